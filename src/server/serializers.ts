import fastJson, { type Schema as FastSchema, type Options } from 'fast-json-stringify';
import { lenient, type Schema } from './schemas.ts';

// biome-ignore lint/suspicious/noExplicitAny: the type that the framework has for an answer
type Write = (answer: any) => string;

/** Writers of answers, made from the routes' own schemas; `shared` are the items by name. */
export function serializers(shared: unknown, options?: Options): (route: { readonly schema?: unknown }) => Write {
  const items = Object.entries(shared as Readonly<Record<string, Schema>>);
  const schema = Object.fromEntries(items.map(([name, item]) => [name, lenient(item) as unknown as FastSchema]));
  return (route) => fastJson(route.schema as FastSchema, { ...options, schema }) as Write;
}
