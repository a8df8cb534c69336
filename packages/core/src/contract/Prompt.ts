/**
 * A prompt's contract: its name, its description and its arguments (spec: server/prompts). Handlers live in `Prompts`.
 *
 * Arguments travel as strings, so each field's schema must encode to a string (`Schema.FiniteFromString` for a number).
 */
import type { Icon } from "@effect-mcp/protocol/model/Icon"
import type * as Model from "@effect-mcp/protocol/model/Prompt"
import * as Validate from "@effect-mcp/protocol/Validate"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"
import { type InvalidValue, invalidValue } from "./ValueCodec.ts"

/** The fields of a prompt's arguments. */
export type ArgumentFields = { readonly [name: string]: Schema.Codec<any, string | undefined> }

/** A prompt whose arguments are `A`: the server's handler and the client's call are typed by it. */
export interface Prompt<A> {
  readonly name: string
  readonly descriptor: Model.Prompt
  readonly decode: (args: { readonly [name: string]: string }) => Effect.Effect<A, InvalidValue>
  readonly encode: (args: A) => Effect.Effect<{ readonly [name: string]: string }, InvalidValue>
}

/** How the prompt is described to clients. */
export interface Options {
  readonly description?: string | undefined
  /** The name to show in a user interface. */
  readonly title?: string | undefined
  readonly icons?: ReadonlyArray<Icon> | undefined
  readonly meta?: { readonly [key: string]: unknown } | undefined
}

/**
 * Describes a prompt. A field that is `Schema.optionalKey` is an optional argument; its `title` and `description` annotations are shown.
 * Throws for an icon that is neither `https` nor `data`.
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
  const schema: Schema.Codec<any, any> = Schema.Struct(fields)
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
