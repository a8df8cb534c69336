import { assert, it } from "@effect/vitest"
import { Schema } from "effect"
import { InOrder } from "../../src/store/InOrder.ts"

const Value = Schema.Literals(["a", "b", "c", "d"])
const Commands = Schema.Array(
  Schema.Union([
    Schema.TaggedStruct("Add", { value: Value }),
    Schema.TaggedStruct("Delete", { value: Value }),
    Schema.TaggedStruct("First", {})
  ])
)

it.prop(
  "The first of values in order is that of a Set, whatever is added and deleted",
  [Commands],
  ([commands]) => {
    const values = new InOrder<string>()
    const model = new Set<string>()
    for (const command of commands) {
      if (command._tag === "Add") {
        values.add(command.value)
        model.add(command.value)
      } else if (command._tag === "Delete") {
        assert.strictEqual(values.delete(command.value), model.delete(command.value))
      } else assert.strictEqual(values.first, [...model][0])
    }
    assert.strictEqual(values.first, [...model][0])
    assert.strictEqual(values.size, model.size)
  },
  { arbitrary: { runs: 2000, size: 40 } }
)
