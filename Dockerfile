# syntax=docker/dockerfile:1
# The server of the HTTP API. docs/deployment.md describes how to run it.

FROM node:20.20.2-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY tsconfig.json tsconfig.build.json ./
COPY src ./src
COPY checkpointers ./checkpointers
COPY web ./web
RUN npm run build

FROM node:20.20.2-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund

FROM node:20.20.2-slim
ENV NODE_ENV=production \
    STRATAGRAPH_HOST=0.0.0.0 \
    STRATAGRAPH_PORT=8123
WORKDIR /app
COPY --from=dependencies /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY package.json LICENSE ./
COPY schema ./schema
# No process of the image writes to its file system.
USER node
EXPOSE 8123
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + process.env.STRATAGRAPH_PORT + '/healthz').then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "dist/src/cli/main.js"]
CMD ["serve"]
