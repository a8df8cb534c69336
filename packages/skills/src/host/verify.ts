/** Verifies files from a server or a store against their skill's manifest. */
import type { ResourceContents } from "@effect-mcp/protocol/model/ResourceContents"
import type { JsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Base64 from "effect/encoding/Base64"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Digest from "../model/Digest.ts"
import * as Frontmatter from "../model/Frontmatter.ts"
import type { Skill, SkillFile } from "../model/Skill.ts"
import * as SkillUri from "../model/SkillUri.ts"
import type { SkillReason } from "./SkillError.ts"

/** A reason to reject a file. */
export interface FileProblem {
  readonly reason: SkillReason
  readonly detail: string
}

const mismatch = (reason: SkillReason, detail: string): FileProblem => ({ reason, detail })

/** Returns the bytes of the content with the requested URI. */
export const bytesOf = (
  uri: string,
  contents: ReadonlyArray<ResourceContents>
): Result.Result<Uint8Array, FileProblem> => {
  const [found, another] = contents.filter((one) => one.uri === uri)
  if (found === undefined) {
    return Result.fail(
      contents.length === 0
        ? mismatch("content", "the server returned no contents")
        : mismatch("other", "the server returned a different file")
    )
  }
  if (another !== undefined) return Result.fail(mismatch("content", "the server returned the file twice"))
  if ("text" in found) return Result.succeed(new TextEncoder().encode(found.text))
  return Result.mapError(Base64.decode(found.blob), () => mismatch("content", "the file is not valid base64"))
}

/** Checks size and digest. The size comes first, because it is cheaper. */
export const checkFile = ({ digest, size }: SkillFile, bytes: Uint8Array): Effect.Effect<Uint8Array, FileProblem> => {
  if (bytes.length !== size) {
    return Effect.fail(mismatch("size", `it has ${bytes.length} bytes, but the manifest says ${size}`))
  }
  return Effect.flatMap(Digest.sha256(bytes), (found) =>
    found === digest
      ? Effect.succeed(bytes)
      : Effect.fail(mismatch("digest", `its digest is ${found}, but the manifest says ${digest}`))
  )
}

/** A `SKILL.md` whose frontmatter matches its entry. */
export interface Manifest {
  readonly text: string
  readonly body: string
  readonly frontmatter: JsonObject
}

/** Parses a `SKILL.md` and compares its frontmatter with the entry that the user saw. */
export const checkManifest = ({ frontmatter }: Skill, bytes: Uint8Array): Result.Result<Manifest, FileProblem> => {
  const text = Result.try({
    try: () => new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes),
    catch: () => mismatch("frontmatter", "it is not valid UTF-8")
  })
  return Result.flatMap(text, (text) => {
    const parsed = Frontmatter.parse(text)
    if (Result.isFailure(parsed)) return Result.fail(mismatch("frontmatter", parsed.failure))
    const fields = Frontmatter.differences(frontmatter, parsed.success.frontmatter)
    return fields.length === 0
      ? Result.succeed({ text, ...parsed.success })
      : Result.fail(mismatch("frontmatter", `its frontmatter differs from the server's entry in ${fields.join(", ")}`))
  })
}

/**
 * Resolves a reference to a path below the skill's root, as a file system would. Returns `undefined` if it leads out of the skill.
 */
export const resolve = (root: string, reference: string): string | undefined => {
  if (/^[A-Za-z][A-Za-z0-9+.-]*:/.test(reference)) return SkillUri.pathBelow(root, reference)
  const names: Array<string> = []
  for (const name of reference.split("/")) {
    if (name === "." || (name === "" && names.length > 0)) continue
    if (name === "" || (name === ".." && names.length === 0)) return undefined
    if (name === "..") names.pop()
    else names.push(name)
  }
  return names.length === 0 ? undefined : names.join("/")
}

/**
 * Returns the digest to which an approval is bound: of the frontmatter, which the user saw, and of every URI and digest in the manifest. The
 * order of keys and files does not matter.
 */
export const approvalDigest = (frontmatter: JsonObject, files: ReadonlyArray<SkillFile>): Effect.Effect<string> => {
  const listed = files.map(({ digest, uri }) => [uri, digest]).toSorted(([a = ""], [b = ""]) => (a < b ? -1 : 1))
  return Digest.sha256OfText(Frontmatter.canonical([frontmatter, listed]))
}
