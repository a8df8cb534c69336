/** Requests about skills, with addresses from the server and hostile ones (extension `io.modelcontextprotocol/skills`). */
import { at } from "../model/json.ts"
import type { Command } from "../model/Script.ts"
import type { Survey } from "../model/Survey.ts"
import { extension, invented, rootOf } from "../model/skills.ts"
import type { Move } from "./Move.ts"
import { oneOf } from "./Values.ts"

type Params = Extract<Command, { readonly _tag: "Request" }>["params"]

const request = (method: string, params?: Params): Command =>
  params === undefined ? { _tag: "Request", method } : { _tag: "Request", method, params }

const requests = (method: string, uris: ReadonlyArray<string>): ReadonlyArray<Command> =>
  uris.map((uri) => request(method, { uri }))

const malformed = (method: string): ReadonlyArray<Command> =>
  [{}, { uri: 7 }, { uri: null }, { uri: ["x"] }].map((params) => request(method, params))

/** Maximum number of skills, and of files per skill, to read. */
const [mostSkills, mostFiles] = [8, 8]

/** True if the server declares the extension, in a revision that has it. */
export const hasSkills = ({ capabilities, revision }: Survey): boolean =>
  revision >= "2026" && at(capabilities, "extensions", extension) !== undefined

/** Addresses to try with a server. */
export interface SkillAddresses {
  readonly skills: ReadonlyArray<string>
  readonly files: ReadonlyArray<string>
  readonly directories: ReadonlyArray<string>
  /** URIs near a skill that are no files, and that a careless server resolves to something else. */
  readonly hostile: ReadonlyArray<string>
}

/** Returns the addresses of the surveyed skills, and hostile variants of them. */
export const addressesOf = ({ skills = [] }: Survey): SkillAddresses => {
  const some = skills.slice(0, mostSkills)
  const files = some.flatMap((skill) => skill.files.slice(0, mostFiles))
  const roots = some.flatMap(({ uri }) => rootOf(uri) ?? [])
  const folders = files.map((uri) => uri.slice(0, uri.lastIndexOf("/")))
  const hostile = roots
    .slice(0, 2)
    .flatMap((root) =>
      [
        `${invented}.md`,
        `../../${invented}/SKILL.md`,
        "..%2f..%2f..%2f..%2fetc%2fpasswd",
        "%2e%2e/%2e%2e/%2e%2e/etc/passwd",
        "..\\..\\..\\windows\\win.ini",
        "SKILL.md%00.txt",
        "SKILL.md/../../../../../etc/passwd",
        "skill.md",
        "SKILL.md.",
        ".git/config",
        "x".repeat(300)
      ].map((path) => `${root}/${path}`)
    )
  return {
    skills: some.map(({ uri }) => uri),
    files,
    directories: [...new Set([...roots, ...folders])],
    hostile: [`skill://${invented}/SKILL.md`, ...hostile]
  }
}

const list: Command = { _tag: "Request", method: "skills/list" }

/** Returns moves with skills, or none if the server declares no skills. */
export const skills = (survey: Survey): ReadonlyArray<Move> => {
  if (!hasSkills(survey)) return []
  const { directories, files, hostile, skills } = addressesOf(survey)
  const readsDirectories = at(survey.capabilities, "extensions", extension, "directoryRead") === true
  const directory = "resources/directory/read"
  return [
    [3, oneOf<Command>(list, list, { _tag: "NextPage", method: "skills/list" }, request("resources/list"))],
    [1, oneOf(...["%%%", 7, null].map((cursor) => request("skills/list", { cursor })), request("skills/list", []))],
    [3, oneOf(...requests("skills/get", [...skills, ...skills, ...files, ...hostile]))],
    [1, oneOf(...malformed("skills/get"))],
    [4, oneOf(...requests("resources/read", [...files, ...files, ...skills, ...hostile]))],
    ...(readsDirectories
      ? ([
          [3, oneOf(...requests(directory, [...directories, ...directories, ...files, ...hostile, "", "skill://"]))],
          [1, oneOf(...malformed(directory))]
        ] satisfies ReadonlyArray<Move>)
      : [])
  ]
}

const wait: Command = { _tag: "Wait" }
const ask = (command: Command): ReadonlyArray<Command> => [command, wait]

/** Returns short conversations that exercise every rule about skills once. */
export const skillsPlan = (survey: Survey): ReadonlyArray<ReadonlyArray<Command>> => {
  if (!hasSkills(survey)) return []
  const { directories, files, hostile, skills } = addressesOf(survey)
  const known = ask(list)
  const unknown = hostile.slice(0, 1)
  return [
    [...known, ...ask({ _tag: "NextPage", method: "skills/list" }), ...ask(request("resources/list"))],
    [...known, ...requests("skills/get", [...skills, ...unknown, ...files.slice(-1)]).flatMap(ask)],
    [...known, ...requests("resources/read", files).flatMap(ask)],
    ...requests("resources/read", hostile.slice(1)).map((read) => [...known, ...ask(read)]),
    [...known, ...requests("resources/directory/read", [...directories, ...unknown, ...skills]).flatMap(ask)],
    malformed("skills/get").flatMap(ask)
  ]
}
