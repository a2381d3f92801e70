import fastJson, { type Schema as FastSchema, type Options } from 'fast-json-stringify';
import { type JsonSchema, lenient } from './schemas.ts';

// biome-ignore lint/suspicious/noExplicitAny: the type that the framework has for an answer
type AnswerSerializer = (answer: any) => string;

/** Writers of answers, made from the routes' own schemas; `shared` are the items by name. */
export function serializers(
  shared: unknown,
  options?: Options,
): (route: { readonly schema?: unknown }) => AnswerSerializer {
  const items = Object.entries(shared as Readonly<Record<string, JsonSchema>>);
  const schema = Object.fromEntries(items.map(([name, item]) => [name, lenient(item) as unknown as FastSchema]));
  return (route) => fastJson(route.schema as FastSchema, { ...options, schema }) as AnswerSerializer;
}
