import { existsSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { defineConfig } from "vitest/config"

const packages = [
  "protocol",
  "core",
  "server",
  "client",
  "testing",
  "fuzz",
  "auth",
  "gateway",
  "host",
  "promise",
  "compat",
  "tasks",
  "skills",
  "nodes",
  "operate",
  "ai",
  "bridge",
  "apps",
  "ui",
  "cli",
  "create",
  "interop",
  "examples",
  "bench",
  "spec",
  "docs",
  "release"
]

/**
 * Files of a project share a process: most of the time would go into loading the same modules again. Only benchmarks have one each.
 */
const alone = new Set(["bench"])

const project = (name: string) => ({
  extends: true as const,
  root: `packages/${name}`,
  test: {
    name,
    include: ["test/**/*.test.ts"],
    exclude: ["test/process/**", "test/perf/**", "test/site/**", "test/engine/**"],
    isolate: alone.has(name)
  }
})

/**
 * Tests that start processes or need a database: `npm run test:all` runs them, `npm test` does not. They meet the system's scheduler, so a
 * failed one gets a second attempt, and the report names it.
 */
const processes = (name: string) => ({
  extends: true as const,
  root: `packages/${name}`,
  test: { name: `${name}:process`, include: ["test/process/**/*.test.ts"], isolate: alone.has(name), retry: 1 }
})

/** Tests of modules that see no listener: they run once, in the project of the server. */
const withoutListener = [
  "request/ArrivingBodies",
  "request/dns-rebinding",
  "request/refused",
  "response/SseBody",
  "session/ResumableStream",
  "session/HttpSession",
  "session/HttpSession.model",
  "session/SessionLog",
  "session/SessionManager",
  "session/SessionTable"
].map((name) => `test/http/${name}.test.ts`)

/** Tests of limits that each node counts for itself, and of shutdown. */
const ofOneNode = ["test/http/ending.test.ts", "test/http/request/fairness.test.ts"]

/** It serves through the router and through the listener itself. */
const ofBoth = "test/http/request/unread.test.ts"

/**
 * What is served over HTTP once more: straight on `node:http`, as a fetch handler, and by three nodes behind a round robin.
 */
const over = (listener: "node" | "nodes" | "web") => ({
  extends: true as const,
  root: "packages/server",
  test: {
    name: `server:${listener}`,
    include: ["test/http/**/*.test.ts"],
    exclude: [
      "test/http/legacy/**",
      ...withoutListener,
      ...(listener === "web" ? [] : [ofBoth]),
      ...(listener === "nodes" ? ofOneNode : [])
    ],
    isolate: false,
    env: { MCP_TEST_LISTENER: listener }
  }
})

/** The built site in a browser: `npm run test:docs` builds it and runs these, `npm test` does not. */
const site = {
  extends: true as const,
  root: "packages/docs",
  test: { name: "docs:site", include: ["test/site/**/*.test.ts"] }
}

/** The tests of tasks on the workflow engine. They replace the store in memory, which no file before them may have loaded. */
const engine = {
  extends: true as const,
  root: "packages/tasks",
  test: { name: "tasks:engine", include: ["test/engine/**/*.test.ts"] }
}

/** What measures time and memory: a busy machine fails it. `npm run test:perf` runs it, `npm test` does not. */
const perf = {
  extends: true as const,
  test: { name: "perf", include: ["packages/*/test/perf/**/*.test.ts"], fileParallelism: false }
}

export default defineConfig({
  test: {
    passWithNoTests: false,
    setupFiles: [fileURLToPath(new URL("packages/spec/src/setup.ts", import.meta.url))],
    // Processes that tests start keep what Node compiles: each begins in half of the time.
    env: { NODE_COMPILE_CACHE: fileURLToPath(new URL("node_modules/.cache/compile", import.meta.url)) },
    // Logs of the code under test are shown for failed tests only.
    silent: "passed-only",
    // `@effect/vitest` logs the error of a failed test, which the report of the failure shows with its place.
    onConsoleLog: (log) => !/ERROR \(#\d+\): Error \[AssertionError\]/.test(log),
    // Stack traces of failures show lines of this repository only.
    onStackTrace: (_, { file }) => !file.includes("/node_modules/"),
    // One line per file: slow tests get no line, unless they fail.
    slowTestThreshold: Number.POSITIVE_INFINITY,
    // Generous: a busy machine may take long to start a process. No test waits for time to pass.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // Much of the time they wait for processes and sockets; by default a machine of two cores would run them one after the other.
    maxWorkers: "100%",
    reporters: ["default", "./packages/spec/src/Reporter.ts", "./packages/spec/src/SkipReporter.ts"],
    coverage: { provider: "v8", include: ["packages/*/src/**/*.ts"], reporter: ["text", "html"] },
    projects: [
      ...packages.map(project),
      ...packages
        .filter((name) => existsSync(new URL(`packages/${name}/test/process`, import.meta.url)))
        .map(processes),
      over("node"),
      over("web"),
      over("nodes"),
      engine,
      site,
      perf
    ]
  }
})
