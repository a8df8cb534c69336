/** Generates many small requests at once. Each must receive exactly one response. */
import * as MethodInfo from "@effect-mcp/protocol/MethodInfo"
import * as Arbitrary from "effect/Arbitrary"
import type { Command, Script } from "../model/Script.ts"
import type { Survey } from "../model/Survey.ts"
import { oneOf } from "./Values.ts"

const lists = Object.values(MethodInfo.lists)

const wait: Command = { _tag: "Wait" }
/** Waits for the start of the process, because there is no handshake. Otherwise the flood would include the startup time. */
const started: ReadonlyArray<Command> = [{ _tag: "Request", method: "server/discover" }, wait]

/**
 * Generates conversations with a single flood, because overlapping floods would only measure the machine. Returns no conversation if the
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
