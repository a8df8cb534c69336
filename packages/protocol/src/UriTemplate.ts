/**
 * URI templates (RFC 6570, all four levels): expands a template to a URI, and matches a URI back to variables.
 *
 * Templates with syntax errors are rejected (`InvalidUriTemplate`). This module doesn't rank templates; the router decides which one to try
 * first. It doesn't use an npm package, because the typed and maintained ones only expand, and matching needs a parsed template anyway.
 *
 * Matching accepts every URI that expansion can produce. It also accepts characters that a client left unencoded, unless they delimit a URI
 * component, and query parameters in any order.
 * - `{var}` matches one or more characters, but never "/", "?" or "#" (nor "&" once the template is in its query).
 *   For example, `file:///{path}` doesn't match `file:///a/b`; use `{+path}` instead.
 * - A value of `{v}`, `{.v}`, `{/v}` or `{;v}` is never "." or "..", and never contains "/", "\\" or NUL after decoding. Such a URI doesn't
 *   match, unless the variable is `unconfined`. Values of `{+v}`, `{#v}`, `{?v}` and `{&v}` may contain anything.
 * - `{+var}` and `{#var}` also match "/". `{+var}` only stops at "?" or "#" if a `{?...}` or `{#...}` follows it.
 * - `{#v}`, `{.v}`, `{/v}`, `{;v}`, `{?v}` and `{&v}` are optional. If they are missing from the URI, their variables are not bound.
 * - Query and path parameters may be in any order. A URI with an unknown or repeated parameter doesn't match.
 * - `{v*}` always binds a list. Anything else binds a string, in which raw commas are kept. Maps are not restored.
 * - If there are several ways to match, earlier variables match as much as possible. A variable that occurs twice must have one value.
 *
 * Time and memory are O(parts x URI length): positions that can match are computed from the end, so there is no backtracking.
 */
import { excerpt } from "./Excerpt.ts"
import * as Result from "effect/Result"
import * as Data from "effect/Data"

/** The template violates RFC 6570 section 2. `position` is a zero-based UTF-16 index. */
export class InvalidUriTemplate extends Data.TaggedError("InvalidUriTemplate")<{
  readonly template: string
  readonly position: number
  readonly reason: string
}> {
  override get message(): string {
    return `Invalid URI template ${excerpt(JSON.stringify(this.template))} at ${this.position}: ${this.reason}`
  }
}

/** A parsed template. `source` is the original text. Create one with `parse`. */
export interface UriTemplate {
  readonly source: string
  readonly parts: ReadonlyArray<string | Expression>
  readonly slots: ReadonlyArray<ReadonlyArray<string> | Slot>
}
/** An expression, such as `{?x,y}`. */
export interface Expression {
  readonly operator: Operator
  readonly variables: ReadonlyArray<Variable>
}
/** A variable in an expression. `prefix` is the 9 in `{var:9}`, in code points. */
export interface Variable {
  readonly name: string
  readonly explode: boolean
  readonly prefix: number | undefined
}
/** An expression prepared for matching: split or merged so that its text ends at the first character in `stop`. */
interface Slot extends Expression {
  readonly stop: string
}
/** A variable's value in `expand`. `undefined`, `null`, and empty lists or maps are left out of the URI. */
export type Value = string | number | boolean | ReadonlyArray<string> | { readonly [key: string]: string }
/** The variables `match` found, percent-decoded: a list for `{name*}`, otherwise a string. */
export type Bindings = { readonly [name: string]: string | ReadonlyArray<string> }

type Operator = keyof typeof operators
// RFC 6570 appendix A. `first` starts the expansion, `empty` follows the name of an empty value. A `free` value may contain slashes.
const operators = {
  "": { first: "", separator: ",", named: false, empty: "", reserved: false, free: false },
  "+": { first: "", separator: ",", named: false, empty: "", reserved: true, free: true },
  "#": { first: "#", separator: ",", named: false, empty: "", reserved: true, free: true },
  ".": { first: ".", separator: ".", named: false, empty: "", reserved: false, free: false },
  "/": { first: "/", separator: "/", named: false, empty: "", reserved: false, free: false },
  ";": { first: ";", separator: ";", named: true, empty: "", reserved: false, free: false },
  "?": { first: "?", separator: "&", named: true, empty: "=", reserved: false, free: true },
  "&": { first: "&", separator: "&", named: true, empty: "=", reserved: false, free: true }
} as const

/** Maximum length of a template, in UTF-16 units. */
export const maxTemplateLength = 8192
/** Maximum length of a URI that can match, in UTF-16 units. */
export const maxUriLength = 65_536

const isOperator = (text: string): text is Exclude<Operator, ""> => text !== "" && Object.hasOwn(operators, text)
const variablePattern = /^((?:\w|%[\da-f]{2})+(?:\.(?:\w|%[\da-f]{2})+)*)(?:(\*)|:([1-9]\d{0,3}))?$/i

/**
 * Parses a template. Invalid syntax is returned as an error with its position and the reason (RFC 6570 section 2). Never throws.
 *
 * @example
 * ```ts
 * import { UriTemplate } from "@effect-mcp/protocol"
 * import { Result } from "effect"
 *
 * const template = Result.getOrThrow(UriTemplate.parse("file:///{folder}/{name}{?line}"))
 * const uri = UriTemplate.expand(template, { folder: "docs", name: "read me.md", line: 3 })
 * console.log(uri)
 * // => file:///docs/read%20me.md?line=3
 * console.log(JSON.stringify(UriTemplate.match(template, uri)))
 * // => {"folder":"docs","name":"read me.md","line":"3"}
 * console.log(UriTemplate.match(template, "file:///docs/..%2Fsecrets"))
 * // => undefined
 * ```
 */
export const parse = (source: string): Result.Result<UriTemplate, InvalidUriTemplate> => {
  const fail = (position: number, reason: string) =>
    Result.fail(new InvalidUriTemplate({ template: source, position, reason }))
  if (source.length > maxTemplateLength) return fail(maxTemplateLength, `longer than ${maxTemplateLength} characters`)
  const parts: Array<string | Expression> = []
  for (let at = 0; at < source.length;) {
    const open = source.indexOf("{", at)
    const literal = source.slice(at, open === -1 ? undefined : open)
    const stray = literal.indexOf("}")
    if (stray !== -1) return fail(at + stray, `"}" without "{"`)
    if (literal !== "") parts.push(encodeReserved(literal))
    if (open === -1) break
    const close = source.indexOf("}", open)
    if (close === -1) return fail(open, `"{" without "}"`)
    const operator = source.charAt(open + 1)
    const variables: Array<Variable> = []
    let position = isOperator(operator) ? open + 2 : open + 1
    for (const spec of source.slice(position, close).split(",")) {
      const found = variablePattern.exec(spec)
      if (found?.[1] === undefined)
        return fail(position, `${excerpt(JSON.stringify(spec))} is not an operator or variable`)
      const prefix = found[3] === undefined ? undefined : Number(found[3])
      variables.push({ name: found[1], explode: found[2] === "*", prefix })
      position += spec.length + 1
    }
    parts.push({ operator: isOperator(operator) ? operator : "", variables })
    at = close + 1
  }
  return Result.succeed({ source, parts, slots: toSlots(parts) })
}

/** Returns the names of a template's variables, without duplicates, in order of appearance. */
export const variables = (template: UriTemplate): ReadonlyArray<string> => {
  const names = template.parts.flatMap((part) => (typeof part === "string" ? [] : part.variables.map((v) => v.name)))
  return [...new Set(names)]
}

// RFC 6570 section 3.2.1: characters that are neither unreserved nor (for `+` and `#`) reserved are percent-encoded.
const encode = (text: string): string =>
  encodeURIComponent(text.toWellFormed()).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)
const encodeReserved = (text: string): string =>
  text.toWellFormed().replace(/%[\da-f]{2}|[^%]+|%/gi, (run) =>
    // `encodeURI` follows RFC 2396, which did not reserve the brackets.
    /^%./.test(run) ? run : encodeURI(run).replaceAll("%5B", "[").replaceAll("%5D", "]")
  )

const take = (text: string, length: number | undefined): string =>
  length === undefined ? text : Array.from(text).slice(0, length).join("")
// `Array.isArray` alone does not narrow a readonly array out of a union.
const isList = (value: Value): value is ReadonlyArray<string> => Array.isArray(value)

const expandVariable = ({ explode, name, prefix }: Variable, operator: Operator, value: Value): string | undefined => {
  const { empty, named, reserved, separator } = operators[operator]
  const escape = reserved ? encodeReserved : encode
  const label = (key: string, text: string) => (named ? key + (text === "" ? empty : `=${text}`) : text)
  if (typeof value !== "object") return label(name, escape(take(String(value), prefix)))
  if (isList(value)) {
    if (value.length === 0) return undefined
    const items = value.map(escape)
    return explode ? items.map((item) => label(name, item)).join(separator) : label(name, items.join(","))
  }
  const pairs = Object.entries(value).map(([key, item]) => [escape(key), escape(item)] as const)
  if (pairs.length === 0) return undefined
  if (!explode) return label(name, pairs.flat().join(","))
  return pairs.map(([key, item]) => (named ? label(key, item) : `${key}=${item}`)).join(separator)
}

/** Expands a template (RFC 6570 section 3). Missing variables are omitted. Prefixes only apply to scalars. */
export const expand = (template: UriTemplate, values: { readonly [name: string]: Value | null | undefined }): string =>
  template.parts
    .map((part) => {
      if (typeof part === "string") return part
      const { first, separator } = operators[part.operator]
      const texts = part.variables.flatMap((variable) => {
        const value = Object.hasOwn(values, variable.name) ? values[variable.name] : undefined
        return value === undefined || value === null ? [] : (expandVariable(variable, part.operator, value) ?? [])
      })
      return texts.length === 0 ? "" : first + texts.join(separator)
    })
    .join("")

// `{/a,b}` is the same as `{/a}{/b}`, and likewise for ".". `{?a}{&b}` and `{;a}{;b}` are merged, because parameters have no order.
const toSlots = (parts: UriTemplate["parts"]): UriTemplate["slots"] => {
  const slots: Array<ReadonlyArray<string> | Slot> = []
  let open = "/?#"
  for (const [at, part] of parts.entries()) {
    if (typeof part === "string") {
      if (part.includes("?")) open = "/?#&"
      slots.push(characters(part))
      continue
    }
    const { operator, variables } = part
    const { named, reserved, separator } = operators[operator]
    const previous = slots.at(-1)
    if (named && previous !== undefined && "stop" in previous && operators[previous.operator].separator === separator) {
      slots[slots.length - 1] = { ...previous, variables: [...previous.variables, ...variables] }
    } else if (named || reserved) {
      const opens = (mark: Operator) => parts.slice(at + 1).some((p) => typeof p !== "string" && p.operator === mark)
      const stop = (opens("?") ? "?" : "") + (opens("#") ? "#" : "")
      slots.push({ ...part, stop: reserved ? stop : operator === ";" ? "/?#" : "#" })
    } else if (operator === "") {
      slots.push({ ...part, stop: open })
    } else {
      for (const [index, variable] of variables.entries()) {
        const list = variable.explode || (operator === "." && index === variables.length - 1)
        slots.push({ operator, variables: [variable], stop: list ? open.replace(operator, "") : open + separator })
      }
    }
  }
  return slots
}

/** Options for matching. `unconfined` lists variables that may have any value, like `{+v}`; code that uses the value has to check it. */
export interface MatchOptions {
  readonly unconfined?: ReadonlyArray<string> | undefined
}

/** True if a value names at most one folder entry: it isn't "." or "..", and doesn't contain "/", "\\" or NUL. */
const isConfined = (value: string): boolean =>
  value !== "." && value !== ".." && !value.includes("/") && !value.includes("\\") && !value.includes("\0")

const confines = ({ operator }: Expression, name: string, { unconfined }: MatchOptions): boolean =>
  !operators[operator].free && unconfined?.includes(name) !== true

/** True if `match` could bind the variable to this value, or to a longer value that starts with it. */
export const admits = (template: UriTemplate, name: string, value: string, options: MatchOptions = {}): boolean =>
  isConfined(value) ||
  !template.parts.some(
    (part) =>
      typeof part !== "string" &&
      part.variables.some((variable) => variable.name === name) &&
      confines(part, name, options)
  )

/** True if the string is a valid template that matches `uri`. */
export const matches = (template: string, uri: string): boolean => {
  const parsed = parse(template)
  return Result.isSuccess(parsed) && match(parsed.success, uri) !== undefined
}

/**
 * Returns the variables for which the template expands to `uri`, or `undefined` if it doesn't match. See the module header for the rules.
 */
export const match = (template: UriTemplate, uri: string, options: MatchOptions = {}): Bindings | undefined => {
  const readings = cut(template.slots, uri)?.map(([slot, text]) => read(slot, text, options))
  if (readings === undefined) return undefined
  const found = new Map<string, Bound>()
  const readable = readings.flatMap((reading) => reading ?? [])
  if (readings.includes(undefined)) return undefined
  // Complete values come first, so that a `{name:3}` can be compared with them.
  for (const [{ name, prefix }, value] of readable.toSorted((a, b) => length(b[0]) - length(a[0]))) {
    const known = found.get(name)
    if (known === undefined) found.set(name, value)
    else if (!same(typeof known === "string" ? take(known, prefix) : known, value)) return undefined
  }
  return Object.fromEntries(found)
}

type Bound = string | ReadonlyArray<string>
const length = ({ prefix }: Variable): number => prefix ?? 10_000 // longer than any prefix can be
const same = (a: Bound, b: Bound): boolean => JSON.stringify(a) === JSON.stringify(b)

// One entry per character. A percent-encoded UTF-8 sequence counts as one, so that no value starts or ends inside of it.
const characters = (text: string): ReadonlyArray<string> => text.match(/%[\da-f]{2}(?:%[89ab][\da-f])*|[^]/giu) ?? []

/** Assigns text to each expression. Computed from the end: `ends[at]` is where a slot that starts at `at` stops, or -1. */
const cut = (slots: UriTemplate["slots"], uri: string): ReadonlyArray<readonly [Slot, string]> | undefined => {
  if (uri.length > maxUriLength) return undefined
  const text = characters(uri)
  let ends: Ends = [...text.map(() => -1), text.length]
  const table = slots
    .toReversed()
    .map((slot) => (ends = "stop" in slot ? slotEnds(slot, text, ends) : literalEnds(slot, text, ends)))
    .toReversed()
  if (ends[0] === -1) return undefined
  let at = 0
  return slots.flatMap((slot, index) => {
    const from = at
    at = table[index]?.[from] ?? -1
    return "stop" in slot && at > from ? [[slot, text.slice(from, at).join("")] as const] : []
  })
}

type Ends = ReadonlyArray<number>

const literalEnds = (literal: ReadonlyArray<string>, text: ReadonlyArray<string>, next: Ends): Ends =>
  next.map((_, at) => {
    const end = at + literal.length
    return (next[end] ?? -1) !== -1 && literal.every((character, index) => character === text[at + index]) ? end : -1
  })

const slotEnds = ({ operator, stop, variables }: Slot, text: ReadonlyArray<string>, next: Ends): Ends => {
  const { first, named } = operators[operator]
  const limit = named || variables.length > 1 ? undefined : variables[0]?.prefix
  // The last position up to `at` from which the rest matches.
  let latest = -1
  const fits = next.map((end, at) => (latest = end === -1 ? latest : at))
  // A slot with an opening mark may be missing. Any other slot needs at least one character.
  const ends = next.map((end, at) => (end === -1 || first === "" ? -1 : at))
  let run = text.length
  for (let from = text.length; from >= first.length; from--) {
    if (stop.includes(text[from] ?? "end")) run = from
    const at = from - first.length
    const end = fits[Math.min(run, from + (limit ?? run))] ?? -1
    if ((first === "" || text[at] === first) && end > at) ends[at] = end
  }
  return ends
}

const read = (
  slot: Slot,
  text: string,
  options: MatchOptions
): ReadonlyArray<readonly [Variable, Bound]> | undefined => {
  const { first, named, separator } = operators[slot.operator]
  const pieces = text.slice(first.length).split(separator)
  const raw = new Map<Variable, Array<string>>()
  if (named) {
    const byName = new Map(slot.variables.map((variable) => [variable.name, variable]))
    for (const piece of pieces.filter((piece) => piece !== "")) {
      const equals = piece.indexOf("=")
      const variable = byName.get(equals === -1 ? piece : piece.slice(0, equals))
      if (variable === undefined || (raw.has(variable) && !variable.explode)) return undefined
      const values = raw.get(variable) ?? []
      values.push(equals === -1 ? "" : piece.slice(equals + 1))
      raw.set(variable, values)
    }
  } else {
    slot.variables.forEach((variable, index) => {
      const after = slot.variables.length - index - 1
      const count = variable.explode ? Math.max(1, pieces.length - after) : after === 0 ? pieces.length : 1
      if (pieces.length > 0) raw.set(variable, pieces.splice(0, count))
    })
  }
  try {
    const bound = Array.from(raw, ([variable, values]): readonly [Variable, Bound] => {
      const decoded = (variable.explode ? values : [values.join(separator)]).map(decodeURIComponent)
      return [variable, variable.explode ? decoded : (decoded[0] ?? "")]
    })
    const fits = ([{ name, prefix }, value]: readonly [Variable, Bound]): boolean =>
      typeof value === "string"
        ? take(value, prefix) === value && (isConfined(value) || !confines(slot, name, options))
        : value.every(isConfined) || !confines(slot, name, options)
    return bound.every(fits) ? bound : undefined
  } catch {
    return undefined // malformed percent-encoding, which no expansion produces
  }
}
