/** Counts the operations of a handler's fibers, and stops the run before one of them. */
import * as Context from "effect/Context"
import type * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import { Driver } from "../engine/Driver.ts"
import { isHandler } from "../engine/handlers.ts"

/** A place in a handler: before its nth operation, or at its nth wait. Both count from 1. */
export interface HandlerPlace {
  readonly kind: "operation" | "wait"
  readonly number: number
}

export class Stepper {
  operations = 0
  waits = 0
  /** Called once when the place is reached. The fiber continues with `driver.release`. */
  onReached: (() => void) | undefined
  readonly driver: Driver
  private readonly place: HandlerPlace | undefined
  private isArmed = false
  private readonly fibers = new Set<Fiber.Fiber<unknown, unknown>>()
  private readonly scopes = new Set<Scope.Scope>()

  constructor(place: HandlerPlace | undefined) {
    this.place = place
    this.driver = new Driver({ preempts: (fiber) => this.preempts(fiber), idle: () => this.idle() })
  }

  /** Counts from now on. */
  arm(): void {
    this.isArmed = true
  }

  /** Number of handler fibers that have not ended. */
  get running(): number {
    return [...this.fibers].filter((fiber) => fiber.pollUnsafe() === undefined).length
  }

  /** Number of open scopes in which the handler ran. */
  get open(): number {
    return [...this.scopes].filter(({ state }) => state._tag !== "Closed").length
  }

  private reached(kind: HandlerPlace["kind"], number: number): boolean {
    if (this.place?.kind !== kind || this.place.number !== number) return false
    // Scheduled outside the fiber that stops.
    this.driver.makeDispatcher().scheduleTask(() => this.onReached?.(), 0)
    return true
  }

  private preempts(fiber: Fiber.Fiber<unknown, unknown>): boolean {
    if (!this.isArmed || !isHandler(fiber)) return false
    this.fibers.add(fiber)
    const scope = Context.getOrUndefined(fiber.context, Scope.Scope)
    if (scope !== undefined) this.scopes.add(scope)
    if (!this.reached("operation", ++this.operations)) return false
    this.driver.hold()
    return true
  }

  private idle(): boolean {
    return this.isArmed && this.running > 0 && this.reached("wait", ++this.waits)
  }
}
