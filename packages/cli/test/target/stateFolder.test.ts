/** The folder for the command's state. */
import { assert, describe, it } from "@effect/vitest"
import { homedir } from "node:os"
import { join } from "node:path"
import { stateFolder } from "../../src/target/stateFolder.ts"

describe("The command's state folder", () => {
  it("Is below the home folder unless a variable names another folder", () => {
    const home = join(homedir(), ".local", "state", "effect-mcp", "tokens")
    assert.strictEqual(stateFolder("tokens", {}), home)
    assert.strictEqual(stateFolder("tokens", { XDG_STATE_HOME: "", LOCALAPPDATA: "" }), home)
    assert.strictEqual(stateFolder("tokens", { XDG_STATE_HOME: "/state" }), join("/state", "effect-mcp", "tokens"))
    assert.strictEqual(stateFolder("tokens", { LOCALAPPDATA: "/local" }), join("/local", "effect-mcp", "tokens"))
  })
})
