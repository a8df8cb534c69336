/** Code patterns that the project does not allow: lists of methods, counts of turns, clocks, and functions assigned to properties. */
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

/** Finds measurements of time and memory in tests, which fail on a busy machine. Files of `test/perf` and their helpers may measure. */
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
 * Finds functions written in an assignment to a property. V8 allocates such a function in the old generation, which keeps everything it
 * closes over, such as a request, until a full collection, and makes young collections copy nearly everything (`packages/bench/NOTES.md`).
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
