import { defineConfig } from "vitest/config"

const packages = [
  "protocol",
  "core",
  "server",
  "client",
  "testing",
  "auth",
  "gateway",
  "cli",
  "everything",
  "examples",
  "bench",
  "spec",
  "conformance"
]

/** Their files share one process: half of the time went into loading the same modules again. */
const shared = new Set(["protocol", "core", "client", "auth", "spec"])

const project = (name: string) => ({
  extends: true as const,
  root: `packages/${name}`,
  test: { name, include: ["test/**/*.test.ts"], exclude: ["test/perf/**"], isolate: !shared.has(name) }
})

/** Tests of modules that see no listener: they run once, in the project of the server. */
const withoutListener = [
  "request/dns-rebinding",
  "request/refused",
  "response/KeepAliveTimer",
  "response/SlowResponseTimer",
  "response/SseBody",
  "session/EventStore",
  "session/EventStore.model",
  "session/EventStream",
  "session/HttpSession",
  "session/HttpSession.model",
  "session/SessionLog",
  "session/SessionTable"
].map((name) => `test/http/${name}.test.ts`)

/** What is served over HTTP once more: straight on `node:http`, and as a fetch handler. */
const over = (listener: "node" | "web") => ({
  extends: true as const,
  root: "packages/server",
  test: {
    name: `server:${listener}`,
    include: ["test/http/**/*.test.ts"],
    exclude: ["test/http/legacy/**", ...withoutListener],
    env: { MCP_TEST_LISTENER: listener }
  }
})

/** What measures time and memory: a busy machine fails it. `npm run test:perf` runs it, `npm test` does not. */
const perf = {
  extends: true as const,
  test: { name: "perf", include: ["packages/*/test/perf/**/*.test.ts"], fileParallelism: false }
}

export default defineConfig({
  test: {
    passWithNoTests: false,
    // Generous: a busy machine may take long to start a process. No test waits for time to pass.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // Much of the time they wait for processes and sockets; by default a machine of two cores would run them one after the other.
    maxWorkers: "100%",
    reporters: ["default", "./packages/spec/src/Reporter.ts", "./packages/spec/src/SkipReporter.ts"],
    coverage: { provider: "v8", include: ["packages/*/src/**/*.ts"], reporter: ["text", "html"] },
    projects: [...packages.map(project), over("node"), over("web"), perf]
  }
})
