import { assert, it } from "@effect/vitest"
import { Schema } from "effect"
import { InOrder, type InList } from "../../src/store/InOrder.ts"

class Value implements InList<Value> {
  list: InOrder<Value> | undefined = undefined
  before: Value | undefined = undefined
  after: Value | undefined = undefined
}

const Place = { value: Schema.Literals([0, 1, 2, 3]), list: Schema.Literals([0, 1]) }
const Commands = Schema.Array(Schema.Union([Schema.TaggedStruct("Add", Place), Schema.TaggedStruct("Delete", Place)]))

it.prop(
  "A list of values has the first of a Set, whatever is added and deleted; a value is in one at a time",
  [Commands],
  ([commands]) => {
    const values = [new Value(), new Value(), new Value(), new Value()] as const
    const lists = [new InOrder<Value>(), new InOrder<Value>()] as const
    const models = [new Set<Value>(), new Set<Value>()] as const
    for (const { _tag, list, value: index } of commands) {
      const value = values[index]
      if (_tag === "Add") {
        lists[list].add(value)
        if (models.every((model) => !model.has(value))) models[list].add(value)
      } else {
        assert.strictEqual(lists[list].delete(value), models[list].delete(value))
      }
      lists.forEach((values, i) => {
        assert.strictEqual(values.first, [...(models[i] ?? [])][0])
        assert.strictEqual(values.size, models[i]?.size)
      })
      // A value that is collected late must not keep those that were beside it.
      for (const one of values) if (one.list === undefined) assert.deepStrictEqual(one, new Value())
    }
  },
  { arbitrary: { runs: 2000, size: 40 } }
)
