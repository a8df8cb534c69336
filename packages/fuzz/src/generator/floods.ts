/** Many small requests at once: each is to be answered exactly once. */
import * as MethodInfo from "@effect-mcp/protocol/MethodInfo"
import * as Arbitrary from "effect/Arbitrary"
import type { Command, Script } from "../model/Script.ts"
import type { Survey } from "../model/Survey.ts"
import { oneOf } from "./Values.ts"

const lists = Object.entries(MethodInfo.clientRequests).flatMap(
  ([method, info]: readonly [string, MethodInfo.ClientRequestInfo]) =>
    info.paginated === true ? [{ method, capability: info.capability ?? "" }] : []
)

const wait: Command = { _tag: "Wait" }
/** No handshake shows that the process has started: a flood before that would measure its start. */
const started: ReadonlyArray<Command> = [{ _tag: "Request", method: "server/discover" }, wait]

/**
 * An opening, one flood, and the wait for its answers: several floods one on top of the other would measure the machine. None where the
 * count is 0.
 */
export const floods = (
  { capabilities, revision }: Survey,
  open: Arbitrary.Arbitrary<ReadonlyArray<Command>>,
  count = 50
): ReadonlyArray<Arbitrary.Arbitrary<Script>> => {
  if (count <= 0) return []
  const methods = lists.flatMap(({ capability, method }) => (capabilities[capability] === undefined ? [] : [method]))
  const flood = Arbitrary.map(oneOf("ping", ...methods), (method): Command => ({
    _tag: "Flood",
    count,
    request: { _tag: "Request", method }
  }))
  const script = Arbitrary.map(Arbitrary.all([open, flood]), ([open, flood]): Script => ({
    revision,
    commands: [...open, ...(revision >= "2026" ? started : []), flood, wait]
  }))
  return [script]
}
