/** What a process keeps of the sessions it has served: nothing. */
import { verifies } from "@effect-mcp/spec/verifies"
import { describe, it } from "@effect/vitest"
import { leave } from "./support/left-sessions.ts"

describe("Sessions that are left in the middle of things", () => {
  it.live(
    "leave no fiber, no timer, no socket and neither end over memory and sockets",
    () => leave("local"),
    verifies("cancellation.receiver.frees-resources")
  )

  it.live(
    "leave no fiber, no timer, no socket and neither end over Streamable HTTP, in both eras",
    () => leave("http"),
    verifies("cancellation.receiver.frees-resources")
  )
})
