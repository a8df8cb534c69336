/** Small faults in the HTTP endpoints, their sessions and what they keep, each with the test that notices it. */
import type { Fault } from "@effect-mcp/spec/Fault"

const store = "packages/server/src/session/EventStore.ts"
const work = "packages/server/src/http/Work.ts"
const fairness = "packages/server/test/http/fairness.test.ts"
const storeModel = "packages/server/test/session/EventStore.model.test.ts"

export const httpFaults: ReadonlyArray<Fault> = [
  {
    name: "Events that were dropped from a stream count for ever",
    file: store,
    from: "    return freed\n",
    to: "    return 0\n",
    test: storeModel
  },
  {
    name: "A session may fill the whole event store",
    file: store,
    from: "if (session.bytes > maxBytesPerSession) dropWhile",
    to: "if (session.bytes > maxBytes) dropWhile",
    test: storeModel
  },
  {
    name: "The smallest session makes room for the others",
    file: store,
    from: "for (let size = sized.length - 1; size >= 0; size--)",
    to: "for (let size = 0; size < sized.length; size++)",
    test: storeModel
  },
  {
    name: "A stream that is written to is still the one that was quiet longest",
    file: store,
    from: "    session.streams.delete(key.stream)\n",
    to: "",
    test: storeModel
  },
  {
    name: "A stream that is forgotten still takes room",
    file: store,
    from: "resize(session, -bytes)",
    to: "resize(session, 0)",
    test: storeModel
  },
  {
    name: "One caller may fill the replay guard",
    file: "packages/server/src/mrtr/ReplayGuard.ts",
    from: "(counts.get(caller) ?? 0) >= perCaller",
    to: "false",
    test: "packages/server/test/stateless/tampering.test.ts"
  },
  {
    name: "A reply that was cut off counts for its caller for ever",
    file: "packages/server/src/mrtr/ReplayGuard.ts",
    from: "else counts.delete(caller)",
    to: "",
    test: "packages/server/test/mrtr/StateSeal.test.ts"
  },
  {
    name: "One caller may have all requests in flight",
    file: work,
    from: "own > limit ?",
    to: "own > this.inFlight ?",
    test: fairness
  },
  {
    name: "Requests whose client has gone count for no caller",
    file: work,
    from: " + (this.awayOf.get(post.caller) ?? 0)",
    to: "",
    test: fairness
  },
  {
    name: "Bodies that are slow do not give way",
    file: work,
    from: "if (this.reading >= this.inFlight) this.giveWay()",
    to: "",
    test: fairness
  },
  {
    name: "A body that has come counts as one that is coming",
    file: work,
    from: "    this.reading--\n",
    to: "",
    test: fairness
  },
  {
    name: "A slow body over HTTP with SSE does not give way",
    file: "packages/server/src/endpoint/Sse.ts",
    from: "    slow?.cut()\n",
    to: "",
    test: "packages/server/test/sse/statuses.test.ts"
  }
]
