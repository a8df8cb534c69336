/**
 * The `rename` tool, which asks the user first. It checks everything before the
 * question and again afterwards, because answers take time.
 */
import * as Elicitation from "@effect-mcp/core/Elicitation"
import * as Tools from "@effect-mcp/core/Tools"
import * as Effect from "effect/Effect"
import * as ClientRoots from "./ClientRoots.ts"
import { Rename } from "./tools.ts"
import { Workspace } from "./Workspace.ts"

const fail = (message: string) =>
  Effect.fail(new Tools.ToolFailure({ message }))

const rename = Effect.fnUntraced(
  function* ({ from, to }: { readonly from: string; readonly to: string }) {
    const workspace = yield* Workspace
    yield* ClientRoots.check(from, to)
    yield* workspace.check(from)
    yield* Elicitation.confirm(`Rename ${from} to ${to}?`)
    yield* ClientRoots.check(from, to)
    yield* workspace.rename(from, to)
    return { from, to }
  },
  Effect.catchTags({
    WorkspaceError: ({ message }) => fail(message),
    Declined: () => fail("The user did not agree. Nothing was renamed."),
    CapabilityMissing: () =>
      fail("This client cannot ask its user: rename needs elicitation")
  })
)

export const layer = Tools.layer(Rename, rename)
