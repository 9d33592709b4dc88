/** Milliseconds of the monotonic clock, which all processes of a machine share: their times can be compared. */
export const nowMs = () => Number(process.hrtime.bigint()) / 1e6
