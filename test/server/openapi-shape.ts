const text = { type: 'string', minLength: 1 };
const ref = (name: string) => ({ $ref: `#/$defs/${name}` });
const mapOf = (values: object, names?: object) => ({
  type: 'object',
  additionalProperties: values,
  ...(names === undefined ? {} : { propertyNames: names }),
});
const strict = (required: readonly string[], properties: Readonly<Record<string, object>>) => ({
  type: 'object',
  required,
  properties,
  additionalProperties: false,
});

/** What every answer has. */
const HEAD = {
  description: { ...text, not: { const: 'Default Response' } },
  headers: mapOf(strict(['schema'], { description: text, schema: ref('schema') })),
};

/** The subset of OpenAPI 3.1 that a document of read operations may use. */
export const OPENAPI_SHAPE = {
  ...strict(['openapi', 'info', 'servers', 'tags', 'components', 'paths', 'security'], {
    openapi: { type: 'string', pattern: '^3\\.1\\.\\d+$' },
    info: strict(['title', 'version', 'license'], {
      title: text,
      version: text,
      description: text,
      license: strict(['name'], { name: text, identifier: text }),
    }),
    servers: { type: 'array', minItems: 1, items: strict(['url'], { url: text }) },
    components: strict(['schemas', 'securitySchemes'], {
      schemas: mapOf(ref('schema'), { pattern: '^[A-Za-z0-9._-]+$' }),
      securitySchemes: mapOf(strict(['type', 'scheme'], { type: { const: 'http' }, scheme: { const: 'bearer' } })),
    }),
    tags: { type: 'array', items: strict(['name'], { name: text }) },
    paths: mapOf(strict(['get'], { get: ref('operation') }), { pattern: '^/' }),
    security: { type: 'array', minItems: 1, items: mapOf({ type: 'array', maxItems: 0 }) },
  }),
  $defs: {
    operation: strict(['operationId', 'summary', 'tags', 'responses'], {
      operationId: { type: 'string', pattern: '^[a-z][A-Za-z]+$' },
      summary: text,
      description: text,
      tags: { type: 'array', items: text },
      parameters: { type: 'array', items: ref('parameter') },
      responses: {
        type: 'object',
        propertyNames: { pattern: '^[1-5]\\d\\d$' },
        properties: { 304: ref('bodiless') },
        additionalProperties: ref('response'),
      },
    }),
    parameter: {
      ...strict(['name', 'in', 'schema', 'required', 'description'], {
        name: text,
        in: { enum: ['query', 'path', 'header'] },
        required: { type: 'boolean' },
        description: text,
        schema: ref('schema'),
      }),
      if: { properties: { in: { const: 'path' } } },
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
      then: { properties: { required: { const: true } } },
    },
    bodiless: strict(['description'], HEAD),
    response: strict(['description', 'content'], {
      ...HEAD,
      content: strict(['application/json'], { 'application/json': strict(['schema'], { schema: ref('schema') }) }),
    }),
    schema: { $ref: 'https://json-schema.org/draft/2020-12/schema' },
  },
};
