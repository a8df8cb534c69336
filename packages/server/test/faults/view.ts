/** Small faults in the view of requests, each with the test that notices it. */
import type { Fault } from "@effect-mcp/spec/Fault"

const view = "packages/server/src/view/RequestReader.ts"
const viewTest = "packages/server/test/view/requests.test.ts"
const modelTest = "packages/server/test/view/requests.model.test.ts"
const dispatch = "packages/server/src/dispatch/StatelessDispatch.ts"
const readContract = "packages/server/src/view/readContract.ts"
const schemaDiff = "packages/server/src/view/SchemaDiff.ts"
const contractTest = "packages/server/test/view/contract.test.ts"
const diffTest = "packages/server/test/view/contract-diff.test.ts"
const observers = "packages/server/src/view/allObservers.ts"
const observersTest = "packages/server/test/view/observers.test.ts"
const httpTest = "packages/server/test/http/view.test.ts"

export const viewFaults: ReadonlyArray<Fault> = [
  {
    name: "an observer that throws keeps the later ones from being called",
    file: "packages/core/src/internal/callEach.ts",
    from: "      thrown.push(error)",
    to: "      throw error",
    test: observersTest
  },
  {
    name: "an observer that fails to serve keeps the later ones from serving",
    file: observers,
    from: "Effect.exit(Effect.suspend(() => run(one) ?? Effect.void))",
    to: "Effect.map(Effect.suspend(() => run(one) ?? Effect.void), Exit.succeed)",
    test: observersTest
  },
  {
    name: "keys of the view are used again",
    file: view,
    from: "const key = `${++this.lastKey}`",
    to: "const key = `${++this.lastKey % 3}`",
    test: modelTest
  },
  {
    name: "a row of the view shows a param of any method as its target",
    file: view,
    from: "if (MethodInfo.ofRequest(method) === undefined) return undefined",
    to: "",
    test: viewTest
  },
  {
    name: "a subscription that an operator ends is answered by an error",
    file: "packages/core/src/peer/Inbound.ts",
    from: "const result = this.handlers.subscriptionEnded?.(request)",
    to: "const result = undefined",
    test: viewTest
  },
  {
    name: "a resource subscription stays after an operator has ended it",
    file: view,
    from: "interrupt: () => session.fork(this.options.unsubscribe(session, uri))",
    to: "interrupt: () => {}",
    test: viewTest
  },
  {
    name: "a question that is given up is not cancelled at the client",
    file: "packages/core/src/peer/Outbound.ts",
    from: "    this.cancel(id, entry, reason)\n    return true",
    to: "    return true",
    test: viewTest
  },
  {
    name: "a request of 2026-07-28 over HTTP is answered without the reason of its interruption",
    file: dispatch,
    from: 'interrupted ? (reason ?? "The request was interrupted") : undefined',
    to: 'interrupted ? "The request was interrupted" : undefined',
    test: httpTest
  },
  {
    name: "a request of 2026-07-28 over HTTP stays in the view when it has ended",
    file: dispatch,
    from: "    requests.delete(received)\n",
    to: "",
    test: httpTest
  },
  {
    name: "a request that waits for a permit does not tell of its change",
    file: "packages/core/src/peer/Inbound.ts",
    from: "      return handlers.changed?.()\n",
    to: "      return\n",
    test: viewTest
  },
  {
    name: "reading the contract fixes the capabilities",
    file: "packages/server/src/dispatch/Server.ts",
    from: "contract: contractOf({ name, instructions, extensions, revisions: info.revisions, features }),",
    to: "contract: (asked) => info.capabilities() && contractOf({ name, instructions, extensions, revisions: info.revisions, features })(asked),",
    test: contractTest
  },
  {
    name: "the contract runs the lists of templates",
    file: readContract,
    from: "others.resources.registered",
    to: "others.resources.list",
    test: contractTest
  },
  {
    name: "the contract of a principal is that of an anonymous one",
    file: readContract,
    from: "{ principal = anonymous }: ContractOptions = {}",
    to: "_options: ContractOptions = {}, principal = anonymous",
    test: contractTest
  },
  {
    name: "tools in the contract stay in order of registration",
    file: readContract,
    from: "tools: sorted(tools, ({ name }) => name)",
    to: "tools",
    test: contractTest
  },
  {
    name: "a bare declaration hides the extension in the contract",
    file: readContract,
    from: "[...declared, ...own]",
    to: "[...own, ...declared]",
    test: contractTest
  },
  {
    name: "the contract leaves out extensions of older revisions",
    file: "packages/server/src/features/ExtensionRegistry.ts",
    from: "revisions.findLast((revision)",
    to: "revisions.slice(-1).find((revision)",
    test: contractTest
  },
  {
    name: "a required field of an input is not breaking",
    file: schemaDiff,
    from: 'if (is && !was) changes.push(changed(`${owner} ${sent ? "requires" : "always gives"} ${quoted}`, sent || clashes))',
    to: 'if (is && !was) changes.push(changed(`${owner} ${sent ? "requires" : "always gives"} ${quoted}`, clashes))',
    test: contractTest
  },
  {
    name: "a property that a closed output gains is not breaking",
    file: schemaDiff,
    from: "const clashes = has &&",
    to: "const clashes = false && has &&",
    test: diffTest
  },
  {
    name: "names of properties are taken for annotations of a schema",
    file: schemaDiff,
    from: "if (!named.has(key) || !isJsonObject(value))",
    to: "if (true)",
    test: diffTest
  }
]
