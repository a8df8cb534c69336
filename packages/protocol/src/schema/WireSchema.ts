/**
 * The JSON side of a schema: Effect's canonical JSON codec, with corrections where its documents or its decoder differ from what a peer
 * expects.
 *
 * Rewrites the syntax tree once. The advertised JSON Schema and the codec are both derived from the result, so they always agree:
 * - Numbers are finite: the strings "NaN" and "Infinity" are not allowed.
 * - Optional fields are absent, never `null`. `undefined` values are omitted when encoding.
 * - An empty struct only accepts objects, and decodes to `{}`.
 * - A documented value with a different wire form (a date, a class) keeps its documentation, and a date has the format "date-time".
 * - A regular expression is advertised if JSON Schema interprets it the same way as JavaScript.
 *
 * Parts without a JSON form stay as the canonical codec has them.
 */
import { memoize } from "effect/Function"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"
import * as SchemaGetter from "effect/SchemaGetter"
import * as SchemaTransformation from "effect/SchemaTransformation"
import { isJsonObject } from "../internal/JsonObject.ts"

/** A codec between a schema's values and plain JSON. */
export type WireCodec<S extends Schema.Constraint> = Schema.Codec<
  S["Type"],
  Schema.Json,
  S["DecodingServices"],
  S["EncodingServices"]
>

/** Returns the codec for a schema's JSON form. Throws for schemas with symbol keys, which have no JSON form. */
export const wireSchema = <S extends Schema.Constraint>(schema: S): WireCodec<S> =>
  Schema.make<WireCodec<S>>(rewrite(Schema.toCodecJson(schema).ast))

type AST = SchemaAST.AST

/** Returns the path to the first declaration that has no JSON form and no annotation that defines one. */
export const withoutJson = (ast: AST, seen: Set<AST> = new Set()): ReadonlyArray<string> | undefined => {
  if (seen.has(ast)) return undefined
  seen.add(ast)
  if (ast.encoding !== undefined) return withoutJson(last(ast.encoding).to, seen)
  const first = (parts: ReadonlyArray<readonly [key: string | undefined, part: AST]>) => {
    for (const [key, part] of parts) {
      const found = withoutJson(part, seen)
      if (found !== undefined) return key === undefined ? found : [key, ...found]
    }
    return undefined
  }
  switch (ast._tag) {
    case "Declaration": {
      const { toCodec, toCodecJson } = ast.annotations ?? {}
      return typeof toCodecJson === "function" || typeof toCodec === "function" ? undefined : []
    }
    case "Suspend":
      return withoutJson(ast.thunk(), seen)
    case "Union":
      return first(ast.types.map((type) => [undefined, type]))
    case "Arrays":
      return first([...ast.elements, ...ast.rest].map((type) => ["*", type]))
    case "Objects":
      return first([
        ...ast.propertySignatures.map(({ name, type }) => [String(name), type] as const),
        ...ast.indexSignatures.map(({ type }) => ["*", type] as const)
      ])
    default:
      return undefined
  }
}

// Each node is only rewritten once, so that recursive schemas stay recursive and deriving a schema twice is cheap.
const rewrite = memoize((ast: AST): AST => step(ast))

const step = (ast: AST): AST => {
  if (ast.encoding !== undefined) {
    const link = last(ast.encoding)
    if (SchemaAST.isNumber(ast) && link.transformation === infinite) return finite(ast)
    return via(ast, rewrite(link.to), link.transformation, ast.encoding.slice(0, -1))
  }
  switch (ast._tag) {
    case "String":
      return new SchemaAST.String(ast.annotations, mapChecks(ast.checks), undefined, ast.context)
    case "Suspend":
      return new SchemaAST.Suspend(() => rewrite(ast.thunk()), ast.annotations, undefined, undefined, ast.context)
    case "Arrays":
      return new SchemaAST.Arrays(
        ast.isMutable,
        ast.elements.map(rewrite),
        ast.rest.map(rewrite),
        ast.annotations,
        ast.checks,
        undefined,
        ast.context,
        ast.encodingChecks
      )
    case "Objects":
      if (ast.propertySignatures.length === 0 && ast.indexSignatures.length === 0) return via(ast, anyObject, emptied)
      return new SchemaAST.Objects(
        ast.propertySignatures.map(({ name, type }) => new SchemaAST.PropertySignature(name, rewrite(type))),
        ast.indexSignatures.map(({ parameter, type }) => new SchemaAST.IndexSignature(parameter, rewrite(type))),
        ast.annotations,
        ast.checks,
        undefined,
        ast.context,
        ast.encodingChecks
      )
    case "Union": {
      const { annotations, checks, context, encodingChecks, options } = ast
      const types = ast.types.map(rewrite)
      const whole = new SchemaAST.Union(types, options, annotations, checks, undefined, context, encodingChecks)
      if (!SchemaAST.isOptional(ast)) return whole
      const present = types.filter((type) => !SchemaAST.isUndefined(type))
      const [only, ...others] = present
      if (only === undefined || present.length === types.length) return whole
      return via(SchemaAST.toType(whole), others.length === 0 ? only : new SchemaAST.Union(present, options), leftOut)
    }
    default:
      return ast
  }
}

const last = (encoding: SchemaAST.Encoding): SchemaAST.Link => encoding.at(-1) ?? encoding[0]
// The transformation the canonical codec uses for numbers that may be infinite.
const infinite = Schema.toCodecJson(Schema.Number).ast.encoding?.[0].transformation

const finite = (ast: SchemaAST.Number): AST =>
  new SchemaAST.Number(ast.annotations, [Schema.isFinite(), ...(ast.checks ?? [])], undefined, ast.context)

const anyObject = Schema.toCodecJson(Schema.Record(Schema.String, Schema.Unknown)).ast
const emptied = new SchemaTransformation.Transformation<object, object>(
  SchemaGetter.transform(() => ({})),
  SchemaGetter.transform(() => ({}))
)
const leftOut = new SchemaTransformation.Transformation<unknown, unknown>(
  SchemaGetter.passthrough(),
  SchemaGetter.transformOptional(Option.filter((value) => value !== undefined))
)

// Copies a node like the schema module does: same prototype, other fields. Constructors cannot be used, because each kind of node has a
// different one.
// kind of node has its own.
const copy = (
  ast: AST,
  changes: { readonly encoding: SchemaAST.Encoding } | { readonly context: SchemaAST.Context }
): AST => Object.assign(Object.create(Object.getPrototypeOf(ast)), ast, changes)

/** Returns `ast` with the encoding `to`. Keeps whether it is optional, and its documentation. */
const via = (
  ast: AST,
  to: AST,
  transformation: SchemaAST.Link["transformation"],
  earlier: ReadonlyArray<SchemaAST.Link> = []
): AST => {
  const [first, ...rest] = [...earlier, new SchemaAST.Link(documented(to, ast), transformation)]
  return first === undefined ? ast : copy(ast, { encoding: [first, ...rest] })
}

const documented = (to: AST, from: AST): AST => {
  if (to.encoding !== undefined) {
    const link = last(to.encoding)
    return via(copyContext(to, from), documented(link.to, from), link.transformation, to.encoding.slice(0, -1))
  }
  const own = SchemaAST.resolve(to) ?? {}
  const added = Object.entries(documentation(from)).filter(([key]) => !(key in own))
  const out = copyContext(to, from)
  return added.length === 0 ? out : Schema.make<Schema.Top>(out).annotate(Object.fromEntries(added)).ast
}

const copyContext = (to: AST, { context }: AST): AST =>
  context === undefined
    ? to
    : copy(to, {
        context: new SchemaAST.Context(context.isOptional, context.isMutable, undefined, {
          ...context.annotations,
          ...to.context?.annotations
        })
      })

/** True for vendor annotation keys such as `x-mcp-header`, which are advertised unchanged. */
export const isVendorKey = (key: string): boolean => key.startsWith("x-")

const formats: { readonly [id: string]: string } = {
  "effect/schema/Date": "date-time",
  "effect/schema/DateTimeUtc": "date-time",
  "effect/schema/URL": "uri"
}

const documentation = (ast: AST): { readonly [key: string]: unknown } => {
  const annotations = SchemaAST.resolve(ast) ?? {}
  const encode = Schema.encodeUnknownOption(Schema.make<Schema.Codec<unknown>>(ast))
  const encoded = (value: unknown) => Option.match(encode(value), { onNone: () => [], onSome: (wire) => [wire] })
  const out: Record<string, unknown> = {}
  const format = formats[representation(annotations)?.id ?? ""]
  if (format !== undefined) out["format"] = format
  for (const [key, value] of Object.entries(annotations)) {
    if (key === "title" || key === "description" || isVendorKey(key)) out[key] = value
    if (key === "examples" && Array.isArray(value)) out[key] = value.flatMap(encoded)
    if (key === "default") for (const wire of encoded(value)) out[key] = wire
  }
  return out
}

/** Returns the name the schema module gives to a check or declaration. */
export const representation = (annotations: object | undefined) => {
  if (!isJsonObject(annotations) || !isJsonObject(annotations["representation"])) return undefined
  const { id, payload } = annotations["representation"]
  return typeof id === "string" ? { id, payload: isJsonObject(payload) ? payload : {} } : undefined
}

const mapChecks = (checks: SchemaAST.Checks | undefined): SchemaAST.Checks | undefined => {
  const [first, ...rest] = checks?.map(withPattern) ?? []
  return first === undefined ? undefined : [first, ...rest]
}

// The schema module omits all patterns, because their flags and their handling of astral characters may differ from JSON Schema.
const withPattern = <E>(check: SchemaAST.Check<E>): SchemaAST.Check<E> => {
  const { id, payload } = representation(check.annotations) ?? {}
  const { flags, source } = payload ?? {}
  if (check._tag === "FilterGroup" || id !== "effect/schema/isPattern" || typeof source !== "string") return check
  return flags === "u" || (flags === "" && isAscii(source))
    ? check.annotate({ toJsonSchema: () => ({ pattern: source }) })
    : check
}

/** True if the expression can't match half of a surrogate pair: it has no wildcard, complement or astral character. */
const isAscii = (source: string): boolean => {
  const atoms = source.replace(/\\[^SWDPpu]/g, "a").replace(/\[(?!\^)[^\]]*\]/g, "a")
  return /^[\0-\x7f]*$/.test(source) && !/\.|\[|\\/.test(atoms) && isUnicodePattern(source)
}
const isUnicodePattern = (source: string): boolean => {
  try {
    return new RegExp(source, "u") instanceof RegExp
  } catch {
    return false
  }
}
