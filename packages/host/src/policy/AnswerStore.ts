/** Remembers the user's answers beyond one conversation. */
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"

/** Remembered answers can't be read or written. */
export class AnswersUnavailable extends Data.TaggedError("AnswersUnavailable")<{
  readonly message: string
  readonly cause?: unknown
}> {}

/** True for allow and false for deny, by the digest of the action that was answered. */
export type RememberedAnswers = ReadonlyMap<string, boolean>

/** Stores answers with the scope `always`. */
export class AnswerStore extends Context.Service<
  AnswerStore,
  {
    readonly read: Effect.Effect<RememberedAnswers, AnswersUnavailable>
    readonly write: (answers: RememberedAnswers) => Effect.Effect<void, AnswersUnavailable>
  }
>()("@effect-mcp/host/AnswerStore") {}

/** Keeps answers in memory. */
export const layerMemory: Layer.Layer<AnswerStore> = Layer.sync(AnswerStore, () => {
  let kept: RememberedAnswers = new Map()
  return {
    read: Effect.sync(() => kept),
    write: (answers) =>
      Effect.sync(() => {
        kept = answers
      })
  }
})

/** Keeps answers in a JSON file that only the user can read. Delete the file to forget them. */
export const layerFile = (path: string): Layer.Layer<AnswerStore, never, FileSystem.FileSystem> =>
  Layer.effect(
    AnswerStore,
    Effect.map(FileSystem.FileSystem, (files) => {
      const failed = (verb: string) => (cause: { readonly message: string }) =>
        new AnswersUnavailable({ message: `Cannot ${verb} the answers in ${path}: ${cause.message}`, cause })
      return {
        read: files.readFileString(path).pipe(
          Effect.catch((cause) => (cause.reason._tag === "NotFound" ? Effect.succeed("{}") : Effect.fail(cause))),
          Effect.flatMap((text) =>
            Effect.try({
              try: (): unknown => JSON.parse(text),
              catch: () => ({ message: "the file is not valid JSON" })
            })
          ),
          Effect.map((value) =>
            Object.entries(isJsonObject(value) ? value : {}).filter(
              (entry): entry is [string, boolean] => typeof entry[1] === "boolean"
            )
          ),
          Effect.mapError(failed("read")),
          Effect.map((entries) => new Map(entries))
        ),
        write: (answers) => {
          const next = `${path}.${globalThis.crypto.randomUUID()}.tmp`
          const text = `${JSON.stringify(Object.fromEntries(answers), undefined, 2)}\n`
          return files.writeFileString(next, text, { mode: 0o600 }).pipe(
            Effect.andThen(files.rename(next, path)),
            Effect.tapError(() => Effect.ignore(files.remove(next))),
            Effect.mapError(failed("write"))
          )
        }
      }
    })
  )
