/** The canonical schema of every message and message wrapper, by the name used in `Codec.test.ts`. */
import * as Schema from "effect/Schema"
import { Declaration, Input, MethodInfo } from "@effect-mcp/protocol"

type Model = Schema.Codec<unknown>

const requests = (side: string, rows: Record<string, MethodInfo.RequestSchemas>) =>
  Object.entries(rows).flatMap(([method, { params, result }]): ReadonlyArray<readonly [string, Model]> => [
    [`${side} ${method} params`, params],
    [`${side} ${method} result`, result]
  ])
const notifications = (side: string, rows: Record<string, { readonly params: Model }>) =>
  Object.entries(rows).map(([method, { params }]) => [`${side} ${method}`, params] as const)

export const canonical: ReadonlyMap<string, Model> = new Map([
  ["declaration", Declaration.Declaration],
  // With a state, because the generator is slow to discover that one of the two is required.
  ["inputRequired", Schema.Struct({ ...Input.InputRequiredResult.fields, requestState: Schema.String })],
  ...requests("clientRequests", MethodInfo.clientRequests),
  ...requests("serverRequests", MethodInfo.serverRequests),
  ...notifications("clientNotifications", MethodInfo.clientNotifications),
  ...notifications("serverNotifications", MethodInfo.serverNotifications)
])
