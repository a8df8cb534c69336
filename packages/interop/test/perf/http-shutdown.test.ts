/** Time that a server takes to end while a thousand streams are open. */
import { assert, it } from "@effect/vitest"
import { Duration, Effect } from "effect"
import { end, servers } from "../support/open-streams.ts"

it.live.each(servers)("A thousand open streams%s delay shutdown by less than two seconds", ([, kinds, ...args]) =>
  Effect.map(end(1000, kinds, args), (took) => assert.isBelow(Duration.toMillis(took), 2000))
)
