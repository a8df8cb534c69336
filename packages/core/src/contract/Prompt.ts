/**
 * A prompt's contract: its name, description and arguments (spec: server/prompts). Handlers are registered with `Prompts`.
 *
 * Arguments are sent as strings, so each field's schema must encode to a string (use `Schema.FiniteFromString` for a number).
 */
import type { Icon } from "@effect-mcp/protocol/model/Icon"
import { InvalidToolSchema } from "@effect-mcp/protocol/internal/toolSchema"
import type * as Model from "@effect-mcp/protocol/model/Prompt"
import * as Validate from "@effect-mcp/protocol/Validate"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"
import { type InvalidValue, invalidValue, schemaOf } from "./ValueCodec.ts"

/** Struct fields that describe a prompt's arguments. */
export type ArgumentFields = { readonly [name: string]: Schema.Codec<any, string | undefined> }

/** A prompt with arguments `A`, which type both the server's handler and the client's call. */
export interface Prompt<A> {
  readonly name: string
  readonly descriptor: Model.Prompt
  readonly decode: (args: { readonly [name: string]: string }) => Effect.Effect<A, InvalidValue>
  readonly encode: (args: A) => Effect.Effect<{ readonly [name: string]: string }, InvalidValue>
}

/** How a prompt is described to clients. */
export interface Options {
  readonly description?: string | undefined
  /** Display name for user interfaces. */
  readonly title?: string | undefined
  readonly icons?: ReadonlyArray<Icon> | undefined
  readonly meta?: { readonly [key: string]: unknown } | undefined
}

/**
 * Defines a prompt. Use `Schema.optionalKey` for optional arguments. Clients see each field's `title` and `description` annotations. Throws
 * `InvalidToolSchema` if an argument is not a schema or doesn't encode to a string, or if an icon's URL is neither `https` nor `data`.
 *
 * @example
 * ```ts
 * import { Prompt } from "@effect-mcp/core"
 * import { Schema } from "effect"
 *
 * const Review = Prompt.make("review", {
 *   description: "Reviews a change",
 *   arguments: {
 *     commit: Schema.String.annotate({ description: "The hash of the commit" }),
 *     depth: Schema.optionalKey(Schema.FiniteFromString)
 *   }
 * })
 *
 * console.log(Review.descriptor.arguments?.map(({ name, required }) => `${name} ${required}`).join(", ")) // => commit true, depth false
 * ```
 */
export const make = <const A extends Schema.Struct.Fields & ArgumentFields = {}>(
  name: string,
  options: Options & { readonly arguments?: A } = {}
): Prompt<Schema.Struct.Type<A>> => {
  const fields: ArgumentFields = options.arguments ?? {}
  const where = `The arguments of the prompt ${JSON.stringify(name)}`
  const schema = schemaOf(where, fields)
  if (Schema.isSchema(fields)) {
    throw new InvalidToolSchema({ where, reason: "Expected a record of schemas, but received a schema" })
  }
  for (const [argument, { ast }] of Object.entries(fields)) {
    if (isText(SchemaAST.toEncoded(ast))) continue
    const reason =
      "Prompt arguments must encode to strings. Use Schema.String or a codec such as Schema.FiniteFromString"
    throw new InvalidToolSchema({ where: `${where}, field ${JSON.stringify(argument)}`, reason })
  }
  const decode = Schema.decodeUnknownEffect(schema, { errors: "all" })
  const encode = Schema.encodeEffect(schema)
  const { description, title, icons, meta } = options
  return {
    name,
    decode: (args) => Effect.mapErrorEager(decode(args), invalidValue),
    encode: (args) => Effect.mapErrorEager(encode(args), invalidValue),
    descriptor: {
      name,
      ...(title === undefined ? undefined : { title }),
      ...(description === undefined ? undefined : { description }),
      ...(icons === undefined ? undefined : { icons: Validate.icons(`Prompt ${name}`, icons) }),
      ...(meta === undefined ? undefined : { _meta: meta }),
      arguments: Object.entries(fields).map(([argument, field]) => describe(argument, field))
    }
  }
}

/** True if a field's encoded values can only be strings or `undefined`. */
const isText = (ast: SchemaAST.AST): boolean => {
  switch (ast._tag) {
    case "String":
    case "TemplateLiteral":
    case "Any":
    case "Unknown":
    case "Suspend":
      return true
    case "Literal":
      return typeof ast.literal === "string"
    case "Enum":
      return ast.enums.every(([, value]) => typeof value === "string")
    case "Union": {
      const types = ast.types.filter(({ _tag }) => _tag !== "Undefined")
      return types.length > 0 && types.every(isText)
    }
    default:
      return false
  }
}

const describe = (name: string, field: Schema.Top): Model.PromptArgument => {
  const annotations = SchemaAST.resolve(field.ast)
  const text = (key: string) => (typeof annotations?.[key] === "string" ? { [key]: annotations[key] } : undefined)
  return {
    name,
    ...text("title"),
    ...text("description"),
    required: !SchemaAST.isOptional(SchemaAST.toEncoded(field.ast))
  }
}
