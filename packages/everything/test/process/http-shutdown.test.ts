/** Streams that stand open, of every kind there is, end as whole ones when the server ends. */
import { scaled } from "@effect-mcp/spec/Scale"
import { it } from "@effect/vitest"
import { end, servers } from "../support/open-streams.ts"

it.live.each(servers)("Open streams%s end in order on SIGTERM", ([, kinds, ...args]) =>
  end(scaled(120, 1000), kinds, args)
)
