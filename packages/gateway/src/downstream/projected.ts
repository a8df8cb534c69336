/** Projects upstream tools' schemas for hosts that cannot use them unchanged. */
import { lateImport } from "@effect-mcp/core/internal/lateImport"
import type { ListToolsResult } from "@effect-mcp/protocol/model/Tool"
import * as Effect from "effect/Effect"

// Loaded when needed, because most gateways forward schemas unchanged.
const rules = lateImport(() => import("@effect-mcp/protocol/Portability"))

/** Projects the tools in a list. Argument names stay the same, so calls are forwarded unchanged. */
export const projected = (list: ListToolsResult): Effect.Effect<ListToolsResult> =>
  Effect.map(Effect.promise(rules), ({ portable }) => ({
    ...list,
    tools: list.tools.map((tool) => portable(tool, { keepsNames: true }).tool)
  }))
