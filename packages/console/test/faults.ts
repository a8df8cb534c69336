/** Faults put in by hand, and the test that notices each. */
import type { Fault } from "@effect-mcp/spec/Fault"

const endpoint = "packages/console/test/Console.test.ts"
const admin = "packages/operate/test/admin/AdminRoutes.test.ts"
const model = "packages/console/test/page/model.test.ts"

export const faults: ReadonlyArray<Fault> = [
  {
    name: "the page may be framed",
    file: "packages/console/src/Console.ts",
    from: "  \"frame-ancestors 'none'\",\n",
    to: "",
    test: endpoint
  },
  {
    name: "the files of the page are served to names that were rebound",
    file: "packages/console/src/Console.ts",
    from: "Access.refusalOf(request, access) ?? response",
    to: "response",
    test: endpoint
  },
  {
    name: "a scope to see is one to steer",
    file: "packages/operate/src/admin/Access.ts",
    from: "if (granted.includes(steer)) return",
    to: "if (granted.includes(see)) return",
    test: endpoint
  },
  {
    name: "a form of another site interrupts",
    file: "packages/operate/src/admin/Admin.ts",
    from: "/^application\\/json\\s*(;|$)/i",
    to: "/^/",
    test: endpoint
  },
  {
    name: "the stream of changes outlives the endpoint",
    file: "packages/operate/src/admin/Admin.ts",
    from: "Stream.interruptWhen(closing)",
    to: "Stream.interruptWhen(Effect.never as typeof closing)",
    test: admin
  },
  {
    name: "any number of callers follow the changes",
    file: "packages/operate/src/admin/Admin.ts",
    from: "followers < followersAtMost &&",
    to: "followers >= 0 &&",
    test: admin
  },
  {
    name: "a history has what ended in other sessions",
    file: "packages/operate/src/admin/History.ts",
    from: "kept.session === session ?",
    to: "kept.session !== undefined ?",
    test: admin
  },
  {
    name: "one layer that observes a server replaces another",
    file: "packages/server/src/view/Observer.ts",
    from: "`${prefix}${++made}`",
    to: "`${prefix}${made}`",
    test: "packages/operate/test/audit/Audit.test.ts"
  },
  {
    name: "one layer that observes a client replaces another",
    file: "packages/client/src/connection/ClientObserver.ts",
    from: "`${prefix}${++made}`",
    to: "`${prefix}${made}`",
    test: "packages/operate/test/audit/Audit.test.ts"
  },
  {
    name: "questions stand beside the calls that ask",
    file: "packages/console/src/page/model.ts",
    from: "relatedTo === undefined || !keys.has(relatedTo)",
    to: "relatedTo !== key",
    test: model
  },
  {
    name: "bars of a timeline overlap",
    file: "packages/console/src/page/model.ts",
    from: "end + gap <= bar.from",
    to: "end + gap <= bar.to",
    test: model
  },
  {
    name: "the page offers a drain to a token that may only see",
    file: "packages/console/src/page/model.ts",
    from: "isOffered: maySteer && ",
    to: "isOffered: ",
    test: model
  }
]
