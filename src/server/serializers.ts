import fastJson, { type Schema as FastSchema, type Options } from 'fast-json-stringify';
import { type JsonSchema, lenient } from './schemas.ts';

type AnswerSerializer = (answer: unknown) => string;

/** Compiles the serializers of the routes' answers. `shared` has the schemas of the items by name. */
export function serializers(
  shared: unknown,
  options?: Options,
): (route: { readonly schema?: unknown }) => AnswerSerializer {
  const items = Object.entries(shared as Readonly<Record<string, JsonSchema>>);
  const schema = Object.fromEntries(items.map(([name, item]) => [name, lenient(item) as unknown as FastSchema]));
  return (route) => fastJson(route.schema as FastSchema, { ...options, schema }) as AnswerSerializer;
}
