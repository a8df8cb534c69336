/**
 * A server as a host's configuration names it: the command that starts it, or its URL.
 *
 * Hosts write the same facts in different words. This module reads all of them, and refuses an entry that names neither.
 */
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Result from "effect/Result"

type Texts = { readonly [name: string]: string }

export interface Started {
  readonly _tag: "Started"
  readonly command: string
  readonly args: ReadonlyArray<string>
  readonly env: Texts
  readonly cwd: string | undefined
}

interface Reached {
  readonly _tag: "Reached"
  readonly url: string
  readonly headers: Texts
  readonly transport: "auto" | "sse"
}

export type ServerEntry = Started | Reached

/** Variables of the environment. */
export type EnvironmentVariables = { readonly [name: string]: string | undefined }

const variable = /\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g

/** A text with `${NAME}`, `${env:NAME}` and `${NAME:-default}` filled in. */
const expand = (text: string, variables: EnvironmentVariables): Result.Result<string, string> => {
  let missing: string | undefined
  const expanded = text.replaceAll(variable, (_, name: string, otherwise: string | undefined) => {
    const value = variables[name] ?? otherwise
    if (value === undefined) missing = name
    return value ?? ""
  })
  if (missing !== undefined) return Result.fail(`the environment has no variable ${missing}`)
  const placeholder = /\$\{[^}]*\}/.exec(expanded)?.[0]
  return placeholder !== undefined && text.includes(placeholder)
    ? Result.fail(`${placeholder} is filled in by the host only`)
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

/** Headers whose values Codex takes from the environment. */
const headersFrom = (entry: JsonObject): Texts => {
  const named = Object.entries(textsOf(entry["env_http_headers"])).map(([header, name]) => [header, `\${${name}}`])
  const bearer = firstText(entry, "bearer_token_env_var")
  return {
    ...textsOf(entry["headers"] ?? entry["http_headers"]),
    ...Object.fromEntries(named),
    ...(bearer === undefined ? undefined : { Authorization: `Bearer \${${bearer}}` })
  }
}

/** Reads an entry of any host; variables are left as they are. */
export const parse = (entry: unknown): Result.Result<ServerEntry, string> => {
  if (!isJsonObject(entry)) return Result.fail("it is no object")
  const url = firstText(entry, "httpUrl", "url", "serverUrl")
  if (url !== undefined) {
    const isSse = entry["type"] === "sse"
    return Result.succeed({ _tag: "Reached", url, headers: headersFrom(entry), transport: isSse ? "sse" : "auto" })
  }
  const command = firstText(entry, "command")
  if (command === undefined || command === "") return Result.fail("it has neither a command nor a URL")
  const { args = [] } = entry
  if (!Array.isArray(args) || !args.every((arg) => typeof arg === "string")) {
    return Result.fail("its args are no list of texts")
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

/** The entry with the variables of the environment filled in. */
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

/** A word of a command line, or a URL, without what may be a secret: the user and the query of a URL. */
const withoutSecrets = (word: string): string =>
  word.replace(/([a-z][\w+.-]*:\/\/)[^/?#\s]*@/gi, "$1...@").replace(/([a-z][\w+.-]*:\/\/[^?#\s]*)[?#]\S*/gi, "$1?...")

const secret = /^--?[\w-]*(?:key|token|secret|password|passwd|authorization|header)$/i

/** Words of a command line, without the values of options that are named like secrets. */
const shownWords = (words: ReadonlyArray<string>): ReadonlyArray<string> =>
  words.map((word, index) => {
    if (secret.test(words[index - 1] ?? "") && !word.startsWith("-")) return "..."
    const [option = ""] = word.split("=", 1)
    return option !== word && secret.test(option) ? `${option}=...` : withoutSecrets(word)
  })

/** For people: without the values of variables, headers, and options that are named like secrets, and without users and queries of URLs. */
export const shown = (entry: ServerEntry): string => {
  const named = (flag: string, texts: Texts) => Object.keys(texts).map((name) => `${flag} ${name}=...`)
  return entry._tag === "Reached"
    ? [withoutSecrets(entry.url), ...named("--header", entry.headers)].join(" ")
    : [...shownWords([entry.command, ...entry.args]), ...named("--env", entry.env)].join(" ")
}
