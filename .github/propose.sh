#!/bin/sh
# Commit what has changed to a branch of the bot's, and open the one pull request for it, or update it.
#
#   propose.sh BRANCH TITLE BODY_FILE        with GH_TOKEN and GH_REPO
#
# A pull request of the workflow's own token starts no other workflow: closing and reopening it by hand does.
set -eu
branch="bot/$1" title=$2 body=$3
git add --update
git add contracts docs harness-images packages tests
if git diff --cached --quiet; then
  echo "nothing has changed"
  exit 0
fi
git config user.name "github-actions[bot]"
git config user.email "41898282+github-actions[bot]@users.noreply.github.com"
git switch --create "$branch"
git commit --quiet --message "$title"
gh auth setup-git
git push --force "https://github.com/$GH_REPO.git" "HEAD:refs/heads/$branch"
printf '\nClose and reopen this pull request to start its checks.\n' >> "$body"
number=$(gh pr list --head "$branch" --state open --limit 1 --json number --jq '.[0].number // empty')
if [ -n "$number" ]; then
  gh pr edit "$number" --title "$title" --body-file "$body"
else
  gh pr create --head "$branch" --base main --title "$title" --body-file "$body"
fi
