/** Skill listings: all of a server's pages, the skills' labels, and the differences between two versions. */
import { type ClientError, InvalidResult } from "@effect-mcp/client/ClientError"
import type { Client } from "@effect-mcp/client/McpClient"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { dynamic, type Skill } from "../model/Skill.ts"
import { SkillsExtension } from "../model/SkillsExtension.ts"
import * as SkillUri from "../model/SkillUri.ts"
import type { SkillRefused } from "./SkillError.ts"

/** A skill in a listing. */
export interface ListedSkill {
  readonly skill: Skill
  /** Name that is unique across servers: the server's label and the skill's name, or its path if another skill has the same name. */
  readonly label: string
}

/** A server's skills. Skills that break a rule are rejected individually. */
export interface SkillListing {
  readonly skills: ReadonlyArray<ListedSkill>
  readonly refused: ReadonlyArray<SkillRefused>
}

/** Maximum number of pages, of skills, and of characters of JSON in a listing. */
const maxPages = 1000
const maxListed = 10_000
const maxLength = 64 * 1024 * 1024

/** Length of a value as JSON. Infinite if it is nested too deeply for the engine. */
const lengthOf = (value: unknown): number =>
  Result.getOrElse(
    Result.try(() => JSON.stringify(value).length),
    () => Infinity
  )

/** Lists every page. */
export const entriesOf = Effect.fnUntraced(function* (
  client: Client
): Effect.fn.Return<ReadonlyArray<unknown>, ClientError> {
  const all: Array<unknown> = []
  const cursors = new Set<string>()
  let cursor: string | undefined
  let length = 0
  do {
    const result = yield* client.request(SkillsExtension.requests.list, cursor === undefined ? {} : { cursor })
    for (const entry of result.skills) all.push(entry)
    length += lengthOf(result)
    cursor = result.nextCursor
    const repeated = cursor !== undefined && cursors.size === cursors.add(cursor).size
    if (repeated || cursors.size > maxPages || all.length > maxListed || length > maxLength) {
      const message = repeated
        ? "The server sent the same cursor twice while listing skills"
        : `The list of skills is too long: the limits are ${maxListed} skills, ${maxPages} pages and ${maxLength} characters`
      return yield* new InvalidResult({ method: "skills/list", message })
    }
  } while (cursor !== undefined)
  return all
})

/** Gives each skill a label. Skills with the same name are labeled with their paths. */
export const labeled = (server: string, skills: ReadonlyArray<Skill>): ReadonlyArray<ListedSkill> => {
  const count = new Map<string, number>()
  for (const { frontmatter } of skills) count.set(frontmatter.name, (count.get(frontmatter.name) ?? 0) + 1)
  return skills.map((skill) => {
    const { name } = skill.frontmatter
    const isUnique = count.get(name) === 1
    const path = SkillUri.placeOf(skill.uri)?.path.join("/") ?? name
    return { skill, label: `${server}/${isUnique ? name : path}` }
  })
}

/** URIs of files that were added, removed or changed. */
export const changesOf = (before: Skill["resources"], after: Skill["resources"]): ReadonlyArray<string> => {
  if (before === dynamic || after === dynamic) return []
  const [old, now] = [before, after].map((files) => new Map(files.map(({ digest, uri }) => [uri, digest])))
  return [...new Set([...(old?.keys() ?? []), ...(now?.keys() ?? [])])].filter((uri) => old?.get(uri) !== now?.get(uri))
}
