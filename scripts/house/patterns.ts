/** What code has to write in another way: lists of methods, counts of turns, clocks, functions that are assigned to properties. */
import { type Finding, lineOf, type Module } from "./Module.ts"

const turnCounts = /Effect\.(?:repeat|replicateEffect)\(\s*Effect\.yieldNow|yieldNow[^\n]*times:/g

export const turns = ({ file, text }: Module): ReadonlyArray<Finding> =>
  [...text.matchAll(turnCounts)].map(({ index }) => ({
    rule: "turns",
    file,
    line: lineOf(text, index),
    text: "A fixed number of scheduler turns; wait for a latch, a queue, an idle peer or `quiesce` of @effect-mcp/testing"
  }))

const clocks = /performance\.now|memoryUsage/g

/** Time and memory in tests: a busy machine fails them. Files beside tests may measure for those of `test/perf`. */
export const time = ({ file, text }: Module): ReadonlyArray<Finding> =>
  !file.endsWith(".test.ts") || file.includes("/test/perf/")
    ? []
    : [...text.matchAll(clocks)].map(({ 0: clock, index }) => ({
        rule: "time",
        file,
        line: lineOf(text, index),
        text: `${clock} in a test; assert steps or an order, or move the test to test/perf`
      }))

/** Methods that have a fact in common are the column of a table, which is typed by all methods. */
const tableOfMethods = "packages/protocol/src/model/MethodInfo.ts"

export const methods = ({ file, methodLists, text }: Module): ReadonlyArray<Finding> =>
  // Pages of the specification have names of the same form.
  file === tableOfMethods || file.startsWith("packages/spec/")
    ? []
    : methodLists.map(({ start, value }) => ({
        rule: "methods",
        file,
        line: lineOf(text, start),
        text: `A list of methods (${value}); make it a column of ${tableOfMethods} and derive the list`
      }))

/** Packages of tools, and one whose objects live as long as connections. */
const unhurried = /^packages\/(?:bench|compat|docs|fuzz|spec|testing)\//

/**
 * V8 makes a function in the old generation that is written in an assignment to a property: what it closes over, such as a request, is kept
 * until a full collection. Young collections then copy nearly all that they meet (`packages/bench/NOTES.md`).
 */
export const assigned = ({ assigned, file, text }: Module): ReadonlyArray<Finding> =>
  unhurried.test(file)
    ? []
    : assigned.map(({ start }) => ({
        rule: "assigned",
        file,
        line: lineOf(text, start),
        text: "A function written in an assignment to a property; make it a field of its class, or a constant that is assigned"
      }))
