/** Failures that can occur when a host lists, loads or reads skills. */
import { excerpt } from "@effect-mcp/protocol/Excerpt"
import * as Data from "effect/Data"
import type { EntryRule } from "../model/checkSkill.ts"

/** Why a skill or a file was rejected. The rules of `EntryRule` also apply to files: `digest`, `size` and `frontmatter` do not match. */
export type SkillReason =
  | EntryRule
  /** The server's listing contains the skill more than once. */
  | "twice"
  /** The server returned another skill or another file. */
  | "other"
  /** The result has no such file, or its content cannot be decoded. */
  | "content"
  /** The file is not in the manifest that the user approved. */
  | "unlisted"
  /** The skill's files are generated, so they cannot be verified. */
  | "dynamic"
  /** The user did not approve the skill. */
  | "declined"
  /** There is no connection, and the store has no verified copy. */
  | "offline"

/** A skill or a file that must not be used. */
export class SkillRefused extends Data.TaggedError("SkillRefused")<{
  /** The host's label for the server. */
  readonly server: string
  /** URI of the skill or file. */
  readonly uri: string
  readonly reason: SkillReason
  readonly detail: string
}> {
  override get message(): string {
    return `Rejected ${excerpt(this.uri)} of ${this.server}: ${this.detail}`
  }
}

/** The store cannot be read or written. */
export class SkillStoreError extends Data.TaggedError("SkillStoreError")<{
  readonly message: string
  readonly cause?: unknown
}> {}
