#!/usr/bin/env node
/**
 * What the command `effect-mcp` starts with: from the second start on Node keeps what it has compiled, if it can (22.1 and newer), which
 * only helps what is imported afterwards.
 */
import * as Module from "node:module"

Module.enableCompileCache?.()
await import("./main.ts")
