/**
 * The text of a configuration file, changed in one place: comments, order and indentation of the rest stay as they are.
 *
 * Refuses a text that is not in its format, rather than write a new one over it.
 */
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import { parse as parseToml, patch, stringify } from "@decimalturn/toml-patch"
import * as Result from "effect/Result"
import { applyEdits, modify, parse as parseJson, type ParseError, printParseErrorCode } from "jsonc-parser"
import type { Host } from "./Host.ts"

export type Format = Host["format"]

/** Where servers may be in a file whose host is not known. */
export const sections: ReadonlyArray<string> = ["mcpServers", "servers", "mcp_servers"]

/** Runs a parser of a library, which may throw: a text that is nested too deeply exhausts the stack. */
const parsed = <A>(format: string, parse: () => A): Result.Result<A, string> =>
  Result.try({
    try: parse,
    catch: (cause) =>
      cause instanceof RangeError
        ? "it is nested too deeply"
        : `it is no ${format}: ${cause instanceof Error ? (cause.message.split("\n")[0] ?? "") : String(cause)}`
  })

const jsonOf = (text: string): Result.Result<unknown, string> => {
  const errors: Array<ParseError> = []
  const options = { allowTrailingComma: true, allowEmptyContent: true }
  return Result.flatMap(
    parsed("JSON", (): unknown => parseJson(text, errors, options)),
    (value) => {
      const [error] = errors
      return error === undefined
        ? Result.succeed(value)
        : Result.fail(`it is no JSON: ${printParseErrorCode(error.error)} at character ${error.offset}`)
    }
  )
}

/** A key with a hundred dots. The parser needs memory for the square of their number. */
const longKey = /(?<![\w"'-])(?:["']?[\w-]+["']?[ \t]*\.[ \t]*){100}/

const tomlOf = (text: string): Result.Result<unknown, string> =>
  longKey.test(text) ? Result.fail("it is nested too deeply") : parsed("TOML", (): unknown => parseToml(text))

/** The whole value; an empty text is an empty object. */
export const read = (format: Format, text: string): Result.Result<JsonObject, string> =>
  Result.flatMap(format === "toml" ? tomlOf(text) : jsonOf(text), (value = {}) =>
    isJsonObject(value) ? Result.succeed(value) : Result.fail("it holds no object")
  )

/** The servers below a section, by name. */
export const serversOf = (value: JsonObject, section: string): Result.Result<JsonObject, string> => {
  const servers = Object.hasOwn(value, section) ? value[section] : {}
  return isJsonObject(servers) ? Result.succeed(servers) : Result.fail(`its ${section} is no object`)
}

/** The entry as a table at the end: `patch` would write it in one line, above the tables of the others. */
const tomlWith = (
  text: string,
  value: JsonObject,
  section: string,
  name: string,
  entry: JsonObject | undefined
): Result.Result<string, string> =>
  Result.gen(function* () {
    const { [name]: there, ...others } = yield* serversOf(value, section)
    const rest = there === undefined ? text : patch(text, { ...value, [section]: others })
    if (entry === undefined) return rest
    const header = `[${section}]`
    const table = stringify({ [section]: { [name]: entry } }, { inlineTableStart: 2 }).replace(header, "")
    const edited = `${rest.trimEnd()}\n\n${table.trimStart()}`.trimStart()
    yield* tomlOf(edited)
    return edited
  })

/** The text with an entry in the place of the one of that name; without one, where it is undefined. */
export const edit = (
  format: Format,
  text: string,
  section: string,
  name: string,
  entry: JsonObject | undefined
): Result.Result<string, string> =>
  Result.gen(function* () {
    const value = yield* read(format, text)
    if (format === "toml") return yield* tomlWith(text, value, section, name, entry)
    const indent = /^([ \t]+)"/m.exec(text)?.[1] ?? "  "
    const formattingOptions = {
      insertSpaces: !indent.startsWith("\t"),
      tabSize: indent.length,
      eol: text.includes("\r\n") ? "\r\n" : "\n"
    }
    // In front of the others: behind them the library would lay out the last one anew, and move its comment.
    const options = { formattingOptions, getInsertionIndex: () => 0 }
    const edited = yield* parsed("JSON", () => applyEdits(text, modify(text, [section, name], entry, options)))
    return text === "" ? `${edited}\n` : edited
  })
