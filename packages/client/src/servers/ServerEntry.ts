/**
 * A server as hosts configure it: either a command to start or a URL.
 *
 * Hosts use different keys for the same settings. This module understands all of them and rejects entries that have neither a command nor a
 * URL.
 */
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Result from "effect/Result"

type Texts = { readonly [name: string]: string }

/** A server the host starts with a command. */
export interface Started {
  readonly _tag: "Started"
  readonly command: string
  readonly args: ReadonlyArray<string>
  readonly env: Texts
  readonly cwd: string | undefined
}

/** A server the host connects to by URL. */
export interface AtUrl {
  readonly _tag: "Reached"
  readonly url: string
  readonly headers: Texts
  readonly transport: "auto" | "sse"
}

/** A server in a host's configuration. */
export type ServerEntry = Started | AtUrl

/** Environment variables by name. */
export type EnvironmentVariables = { readonly [name: string]: string | undefined }

const variable = /\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g

/** Substitutes `${NAME}`, `${env:NAME}` and `${NAME:-default}` in a string. */
const expand = (text: string, variables: EnvironmentVariables): Result.Result<string, string> => {
  let missing: string | undefined
  const expanded = text.replaceAll(variable, (_, name: string, otherwise: string | undefined) => {
    const value = variables[name] ?? otherwise
    if (value === undefined) missing = name
    return value ?? ""
  })
  if (missing !== undefined) return Result.fail(`the environment variable ${missing} is not set`)
  const placeholder = /\$\{[^}]*\}/.exec(expanded)?.[0]
  return placeholder !== undefined && text.includes(placeholder)
    ? Result.fail(`only a host can fill in ${placeholder}`)
    : Result.succeed(expanded)
}

const textsOf = (value: unknown): Texts =>
  isJsonObject(value)
    ? Object.fromEntries(
        Object.entries(value).flatMap(([name, text]) => (typeof text === "string" ? [[name, text]] : []))
      )
    : {}

const firstText = (entry: JsonObject, ...keys: ReadonlyArray<string>): string | undefined =>
  keys.map((key) => entry[key]).find((value) => typeof value === "string")

/** Returns the headers, including the ones that Codex fills from environment variables. */
const headersFrom = (entry: JsonObject): Texts => {
  const named = Object.entries(textsOf(entry["env_http_headers"])).map(([header, name]) => [header, `\${${name}}`])
  const bearer = firstText(entry, "bearer_token_env_var")
  return {
    ...textsOf(entry["headers"] ?? entry["http_headers"]),
    ...Object.fromEntries(named),
    ...(bearer === undefined ? undefined : { Authorization: `Bearer \${${bearer}}` })
  }
}

/** Parses a server entry in any host's format. Does not substitute variables. */
export const parse = (entry: unknown): Result.Result<ServerEntry, string> => {
  if (!isJsonObject(entry)) return Result.fail("it is not an object")
  const url = firstText(entry, "httpUrl", "url", "serverUrl")
  if (url !== undefined) {
    const isSse = entry["type"] === "sse"
    return Result.succeed({ _tag: "Reached", url, headers: headersFrom(entry), transport: isSse ? "sse" : "auto" })
  }
  const command = firstText(entry, "command")
  if (command === undefined || command === "") return Result.fail("it has neither a command nor a URL")
  const { args = [] } = entry
  if (!Array.isArray(args) || !args.every((arg) => typeof arg === "string")) {
    return Result.fail("its args are not a list of strings")
  }
  return Result.succeed({ _tag: "Started", command, args, env: textsOf(entry["env"]), cwd: firstText(entry, "cwd") })
}

const expandAll = (texts: Texts, variables: EnvironmentVariables): Result.Result<Texts, string> =>
  Result.map(
    Result.all(
      Object.entries(texts).map(([name, text]) => Result.map(expand(text, variables), (value) => [name, value]))
    ),
    Object.fromEntries
  )

/** Substitutes the environment variables in an entry. */
export const resolve = (entry: ServerEntry, variables: EnvironmentVariables): Result.Result<ServerEntry, string> =>
  Result.gen(function* () {
    if (entry._tag === "Reached") {
      const url = yield* expand(entry.url, variables)
      return { ...entry, url, headers: yield* expandAll(entry.headers, variables) }
    }
    const [command = "", ...args] = yield* Result.all(
      [entry.command, ...entry.args].map((text) => expand(text, variables))
    )
    return { ...entry, command, args, env: yield* expandAll(entry.env, variables) }
  })

/** Removes the user and query parts of URLs from a word, because they may be secret. */
const withoutSecrets = (word: string): string =>
  word.replace(/([a-z][\w+.-]*:\/\/)[^/?#\s]*@/gi, "$1...@").replace(/([a-z][\w+.-]*:\/\/[^?#\s]*)[?#]\S*/gi, "$1?...")

const secret = /^--?[\w-]*(?:key|token|secret|password|passwd|authorization|header)$/i

/** Hides the values of options with names like `--token` or `--api-key`. */
const shownWords = (words: ReadonlyArray<string>): ReadonlyArray<string> =>
  words.map((word, index) => {
    if (secret.test(words[index - 1] ?? "") && !word.startsWith("-")) return "..."
    const [option = ""] = word.split("=", 1)
    return option !== word && secret.test(option) ? `${option}=...` : withoutSecrets(word)
  })

/**
 * Formats an entry for display. Hides the values of environment variables, headers and secret options, as well as the user and query parts
 * of URLs.
 */
export const shown = (entry: ServerEntry): string => {
  const named = (flag: string, texts: Texts) => Object.keys(texts).map((name) => `${flag} ${name}=...`)
  return entry._tag === "Reached"
    ? [withoutSecrets(entry.url), ...named("--header", entry.headers)].join(" ")
    : [...shownWords([entry.command, ...entry.args]), ...named("--env", entry.env)].join(" ")
}
