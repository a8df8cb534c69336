/** What a process keeps of the sessions it has served: nothing. */
import { verifies } from "@effect-mcp/spec/verifies"
import { describe, it } from "@effect/vitest"
import { leave } from "../support/left-sessions.ts"

describe("Sessions that are left in the middle of requests", () => {
  it.live(
    "Sessions over memory and sockets that are left leave no fiber, timer, socket, client or server",
    () => leave("local"),
    verifies("cancellation.receiver.frees-resources")
  )

  it.live(
    "Sessions over Streamable HTTP that are left leave no fiber, timer, socket, client or server, in both eras",
    () => leave("http"),
    verifies("cancellation.receiver.frees-resources")
  )
})
