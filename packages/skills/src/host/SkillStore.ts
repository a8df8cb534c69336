/**
 * The host's side of the Skills extension: lists servers' skills, asks the user before loading one, and verifies every file.
 */
import type { Client } from "@effect-mcp/client/McpClient"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Semaphore from "effect/Semaphore"
import { SkillsOfServer, type ServerSkills, type StoreOptions } from "./ServerSkills.ts"
import type { SkillStoreError } from "./SkillError.ts"
import { SkillFiles } from "./SkillFiles.ts"

export type { ListedSkill, SkillListing } from "./listing.ts"
export type { LoadedSkill, SkillContent } from "./LoadedSkill.ts"
export type { ServerSkills, SkillQuestion, StoreFailure, StoreOptions } from "./ServerSkills.ts"
export { SkillRefused, SkillStoreError, type SkillReason } from "./SkillError.ts"

/** Loads skills from servers. */
export class SkillStore extends Context.Service<
  SkillStore,
  {
    /**
     * Returns a connected server's skills. `server` is the host's label for it, which identifies a skill together with the URI. Always
     * use the same label for a server, and never the name that the server reports.
     */
    readonly connected: (server: string, client: Client) => ServerSkills
    /** Returns the skills that were loaded from a server earlier, without a connection. Files that were not read then are missing. */
    readonly offline: (server: string) => ServerSkills
    /** Removes a server's files and approvals. */
    readonly forget: (server: string) => Effect.Effect<void, SkillStoreError>
  }
>()("@effect-mcp/skills/SkillStore") {}

/** Provides a store that keeps its skills in `SkillFiles`. */
export const layer = (options: StoreOptions): Layer.Layer<SkillStore, never, SkillFiles> =>
  Layer.effect(
    SkillStore,
    Effect.gen(function* () {
      const files = yield* SkillFiles
      const asking = yield* Semaphore.make(1)
      return SkillStore.of({
        connected: (server, client) => new SkillsOfServer({ server, client, files, options, asking }),
        offline: (server) => new SkillsOfServer({ server, client: undefined, files, options, asking }),
        forget: files.remove
      })
    })
  )
