/**
 * Identifies a node's process to other processes on the same machine. They can see that it is dead, while processes on
 * other machines can only wait until its lease expires.
 */
import { readFileSync, readlinkSync } from "node:fs"

/**
 * Identifies the space in which process ids are unique: a kernel boot, and a pid namespace in it. Containers on one
 * machine have separate namespaces. `undefined` if the system does not report it.
 */
export const machine = ((): string | undefined => {
  try {
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()
    return `${boot}/${readlinkSync("/proc/self/ns/pid").replaceAll(/\D/g, "")}`
  } catch {
    return undefined
  }
})()

/** True if a process on this machine has ended. False if its id has been reused or the process is frozen. */
export const hasEnded = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return false
  } catch (error) {
    // Another user's process cannot be signalled, but it exists.
    return !(error instanceof Error && "code" in error && error.code === "EPERM")
  }
}
