import { assert, describe, it } from "@effect/vitest"
import { fileName } from "../../src/host/Requests.ts"

describe("A saved file's name", () => {
  it.each([
    ["file:///a/b/report.pdf?x#y", "report.pdf"],
    ["file:///a/..%2F..%2Fetc%2Fpasswd", "_.._etc_passwd"],
    ["file:///.bashrc", "bashrc"],
    ["file:///%E2%80%AEfdp.exe", "_fdp.exe"],
    ["file:///a%F3%A0%81%81.txt", "a.txt"],
    ["file:///con", "_con"],
    ["file:///AUX.txt", "_AUX.txt"],
    ["file:///Lpt1.tar.gz", "_Lpt1.tar.gz"],
    ["file:///console.log", "console.log"],
    ["file:///run.exe.%20.", "run.exe"],
    ["file:///...", "download"],
    [`file:///${"a".repeat(119)}%F0%9F%98%80`, `${"a".repeat(119)}\ufffd`]
  ])("%s becomes %s", (uri, name) => {
    assert.strictEqual(fileName(uri), name)
  })
})
