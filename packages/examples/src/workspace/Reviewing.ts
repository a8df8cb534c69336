/** The `review` prompt: a file with instructions for a model. */
import * as Completions from "@effect-mcp/core/Completions"
import { contentsOf } from "@effect-mcp/server/folder/Media"
import * as Names from "@effect-mcp/server/folder/Names"
import * as Prompts from "@effect-mcp/core/Prompts"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Effect from "effect/Effect"
import * as ClientRoots from "./ClientRoots.ts"
import { completePath } from "./Files.ts"
import { Review } from "./tools.ts"
import { Workspace } from "./Workspace.ts"

const focuses = [
  "correctness",
  "error handling",
  "naming",
  "performance",
  "readability",
  "security",
  "tests"
]

export const layer = Prompts.layer(
  Review,
  ({ focus, path }) =>
    Effect.gen(function* () {
      const workspace = yield* Workspace
      yield* ClientRoots.check(path)
      const resource = contentsOf(
        Names.toUri(workspace.uri, path),
        path,
        yield* workspace.read(path)
      )
      const first = focus === undefined ? "" : ` Look at ${focus} first.`
      return [
        Prompts.user(`Review ${path}.${first}`),
        Prompts.user({ type: "resource", resource })
      ]
    }).pipe(
      Effect.catchTag("WorkspaceError", ({ message }) =>
        Effect.fail(McpError.invalidParams(message))
      )
    ),
  { complete: { path: completePath, focus: Completions.choices(focuses) } }
)
