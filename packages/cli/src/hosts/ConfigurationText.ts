/**
 * Edits the text of a configuration file in one place. Comments, order and indentation stay unchanged.
 *
 * Fails if the text is invalid, rather than overwrite it.
 */
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import { parse as parseToml, patch, stringify } from "@decimalturn/toml-patch"
import * as Result from "effect/Result"
import { applyEdits, modify, parse as parseJson, type ParseError, printParseErrorCode } from "jsonc-parser"
import type { Host } from "./Host.ts"

export type Format = Host["format"]

/** Keys under which a file of an unknown host may list servers. */
export const sections: ReadonlyArray<string> = ["mcpServers", "servers", "mcp_servers"]

/** Runs a library's parser, which throws for invalid text, and if deep nesting exhausts the stack. */
const parsed = <A>(format: string, parse: () => A): Result.Result<A, string> =>
  Result.try({
    try: parse,
    catch: (cause) =>
      cause instanceof RangeError
        ? "it is nested too deeply"
        : `it is not ${format}: ${cause instanceof Error ? (cause.message.split("\n")[0] ?? "") : String(cause)}`
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
        : Result.fail(`it is not JSON: ${printParseErrorCode(error.error)} at character ${error.offset}`)
    }
  )
}

/** Matches a key with a hundred dots. The parser's memory grows with the square of their number. */
const longKey = /(?<![\w"'-])(?:["']?[\w-]+["']?[ \t]*\.[ \t]*){100}/

const tomlOf = (text: string): Result.Result<unknown, string> =>
  longKey.test(text) ? Result.fail("it is nested too deeply") : parsed("TOML", (): unknown => parseToml(text))

/** Parses a text. An empty text is an empty object. */
export const read = (format: Format, text: string): Result.Result<JsonObject, string> =>
  Result.flatMap(format === "toml" ? tomlOf(text) : jsonOf(text), (value = {}) =>
    isJsonObject(value) ? Result.succeed(value) : Result.fail("it is not an object")
  )

/** Returns the servers in a section, by name. */
export const serversOf = (value: JsonObject, section: string): Result.Result<JsonObject, string> => {
  const servers = Object.hasOwn(value, section) ? value[section] : {}
  return isJsonObject(servers) ? Result.succeed(servers) : Result.fail(`its ${section} is not an object`)
}

/** Appends the entry as a table. `patch` would write it as one line above the other tables. */
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

/** Returns the text with the entry added or replaced, or without it if the entry is `undefined`. */
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
    // Insert at the start. At the end, the library would reformat the previous entry and move its comment.
    const options = { formattingOptions, getInsertionIndex: () => 0 }
    const edited = yield* parsed("JSON", () => applyEdits(text, modify(text, [section, name], entry, options)))
    return text === "" ? `${edited}\n` : edited
  })
