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

const project = (name: string) => ({
  extends: true as const,
  root: `packages/${name}`,
  test: { name, include: ["test/**/*.test.ts"] }
})

/** What is served over HTTP once more: straight on `node:http`, and as a fetch handler. */
const over = (listener: "node" | "web") => ({
  extends: true as const,
  root: "packages/server",
  test: {
    name: `server:${listener}`,
    include: ["test/http/**/*.test.ts"],
    exclude: ["test/http/legacy/**"],
    env: { MCP_TEST_LISTENER: listener }
  }
})

export default defineConfig({
  test: {
    passWithNoTests: false,
    // Generous: a busy machine may take long to start a process. No test waits for time to pass.
    testTimeout: 30_000,
    hookTimeout: 30_000,
    // Much of the time they wait for processes and sockets; by default a machine of two cores would run them one after the other.
    maxWorkers: "100%",
    reporters: ["default", "./packages/spec/src/Reporter.ts"],
    coverage: { provider: "v8", include: ["packages/*/src/**/*.ts"], reporter: ["text", "html"] },
    projects: [...packages.map(project), over("node"), over("web")]
  }
})
