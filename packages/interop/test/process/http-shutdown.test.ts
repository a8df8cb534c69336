/** Open streams of every kind end cleanly when the server ends. */
import { scaled } from "@effect-mcp/spec/Scale"
import { it } from "@effect/vitest"
import { end, servers } from "../support/open-streams.ts"

it.live.each(servers)("Open streams%s end cleanly on SIGTERM", ([, kinds, ...args]) =>
  end(scaled(120, 1000), kinds, args)
)
