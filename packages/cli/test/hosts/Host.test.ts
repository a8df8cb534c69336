import { assert, describe, it } from "@effect/vitest"
import { join } from "node:path"
import { fileOf, hosts } from "../../src/hosts/Host.ts"

describe("fileOf", () => {
  const fileIn = (platform: NodeJS.Platform, env: { readonly [name: string]: string }) => {
    const host = hosts.find(({ id }) => id === "claude-desktop")
    return host && fileOf(host, { platform, home: "/home/ada", env, cwd: "/" }, false)
  }
  const file = (folder: string) => join(folder, "Claude", "claude_desktop_config.json")

  it("Ignores empty variables", () => {
    assert.strictEqual(fileIn("linux", { XDG_CONFIG_HOME: "" }), file("/home/ada/.config"))
    assert.strictEqual(fileIn("linux", { XDG_CONFIG_HOME: "/config" }), file("/config"))
    assert.strictEqual(fileIn("win32", { APPDATA: "" }), file(join("/home/ada", "AppData", "Roaming")))
    assert.strictEqual(fileIn("win32", { APPDATA: "/roaming" }), file("/roaming"))
  })
})
