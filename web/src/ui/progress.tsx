// A bar of progress that tells apart what succeeded and what failed.
import type { JSX } from "preact";

interface Props {
  /** 0 to 100; null = not known */
  percent: number | null;
  /** percent points of it that failed */
  failed?: number;
  label: string;
  tone?: string;
}

export function ProgressBar({ percent, failed = 0, label, tone = "" }: Props): JSX.Element {
  const value = Math.min(100, Math.max(0, percent ?? 0));
  const bad = Math.min(value, Math.max(0, failed));
  return (
    <div
      class={`bar split ${tone} ${percent === null ? "unknown" : ""}`}
      role="progressbar"
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={percent === null ? undefined : Math.round(value)}
      aria-label={label}
    >
      <svg viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true">
        <rect class="good" width={value - bad} height={1} />
        <rect class="bad" x={value - bad} width={bad} height={1} />
      </svg>
    </div>
  );
}
