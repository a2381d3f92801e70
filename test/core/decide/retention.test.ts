import { describe, expect, test } from 'vitest';
import { pruningRules } from '../../../src/core/decide/retention.ts';

const NOW = '2026-11-20T04:10:00.000000Z';
const OFF = { thinScoresDays: null, keepScoresDays: null, keepExecutionsDays: null, keepRunsDays: null };

describe('pruningRules', () => {
  test('whole days are pruned, so the oldest day that is kept is complete (R17)', () => {
    expect(
      pruningRules({ ...OFF, thinScoresDays: 90, keepScoresDays: 365, keepExecutionsDays: 100 }, [NOW, NOW]),
    ).toEqual([
      { history: 'asset_health_score_history', action: 'delete', before: '2025-11-20T00:00:00.000000Z' },
      { history: 'asset_health_score_history', action: 'thin', before: '2026-08-22T00:00:00.000000Z' },
      { history: 'test_executions', action: 'delete', before: '2026-08-12T00:00:00.000000Z' },
    ]);
  });

  test('the earlier of the server’s and the machine’s time counts, because no clock alone may delete (R1)', () => {
    const ahead = '2030-01-01T00:00:00.000000Z';
    const expected = pruningRules({ ...OFF, keepScoresDays: 8 }, [NOW, NOW]);
    expect(pruningRules({ ...OFF, keepScoresDays: 8 }, [NOW, ahead])).toEqual(expected);
    expect(pruningRules({ ...OFF, keepScoresDays: 8 }, [ahead, NOW])).toEqual(expected);
  });

  test('nothing is pruned if every option is off (R17)', () => {
    expect(pruningRules(OFF, [NOW, NOW])).toEqual([]);
  });
});
