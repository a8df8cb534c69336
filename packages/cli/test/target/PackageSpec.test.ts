/** Names of servers whose package has a version. */
import { assert, describe, it } from "@effect/vitest"
import { withoutVersion } from "../../src/target/PackageSpec.ts"

describe("The name of a server that a package runner starts", () => {
  it.each([
    ["npx -y some-server@1.2.3", "npx -y some-server"],
    ["npx -y @scope/name@^2.0.0-beta.1 --port 8080", "npx -y @scope/name --port 8080"],
    ["npx @scope/name", "npx @scope/name"],
    ["/usr/bin/npx name@latest ada@1.2.3", "/usr/bin/npx name ada@1.2.3"],
    ["npx name ada@1.2.3", "npx name ada@1.2.3"],
    ["npx.cmd name@1", "npx.cmd name"],
    ["npx -p name@1 bin@2", "npx -p name bin"],
    ["npx --package=name@1 -- bin", "npx --package=name -- bin"],
    ["bunx name@1.2.3", "bunx name"],
    ["bun x name@1.2.3", "bun x name"],
    ["npm exec -- name@1.2.3 -v", "npm exec -- name -v"],
    ["pnpm dlx name@1.2.3", "pnpm dlx name"],
    ["uvx --python 3.12 name@1.2.3", "uvx --python 3.12 name"],
    ["uvx --from name==1.2 run", "uvx --from name run"]
  ])("The command %s becomes %s", (line, expected) => {
    assert.strictEqual(withoutVersion(line), expected)
  })

  it.each([
    "node server.js ada@1.2.3",
    "npm run start@1",
    "./npx-tool name@1.2.3",
    "npx git+ssh://git@github.com/ada/server.git",
    "npx name@npm:other@1",
    "https://example.com/name@1.2.3",
    "npx",
    ""
  ])("The command %s is unchanged", (line) => {
    assert.strictEqual(withoutVersion(line), line)
  })
})
