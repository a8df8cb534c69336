import { assert, describe, it } from "@effect/vitest"
import { placeOf } from "../../src/model/SkillUri.ts"

describe("The path of a skill", () => {
  it.each([
    "%1B%5B2J",
    "%C2%9B2J",
    "%E2%80%AEb",
    "%E2%80%8Bb",
    "%E2%80%A8b",
    "%EF%BB%BFb",
    "%F3%A0%81%93",
    "%2F",
    "%5C"
  ])("Is rejected if a segment is a%s, which a user could not read", (hidden) => {
    assert.isUndefined(placeOf(`skill://a${hidden}/refunds/SKILL.md`))
  })

  it("May have letters of any script, and joiners between them", () => {
    const path = ["क्‍ष", "می‌خواهم", "é 1", "refunds"]
    assert.deepStrictEqual(placeOf(`skill://${path.map(encodeURIComponent).join("/")}/SKILL.md`)?.path, path)
  })
})
