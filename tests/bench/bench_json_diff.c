/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_json_diff - the cost of `changed` for one MODIFIED event: us an object of which one leaf has
 * changed, and beside it the cost of two scans alone. Not a test.
 */
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include "base/buf.h"
#include "base/panic.h"
#include "proto/json_diff.h"
#include "proto/json_in.h"

enum { RUNS = 500, ROUNDS = 20, LIMIT = 100 };

struct pair {
    struct buf a;
    struct buf b;
};

static double now_s(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* About 1.5 KB: two ports, annotations as a load balancer writes them. */
static void put_service(struct buf *out, int port)
{
    buf_puts(out, "{\"kind\":\"Service\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"frontend\","
                  "\"namespace\":\"shop\",\"uid\":\"6a3c2b8e-7a5f-4d6e-9c1d-000000000001\","
                  "\"resourceVersion\":\"123456\",\"creationTimestamp\":\"2024-01-01T00:00:00Z\","
                  "\"labels\":{\"app.kubernetes.io/name\":\"frontend\","
                  "\"app.kubernetes.io/part-of\":\"shop\",\"tier\":\"web\"},\"annotations\":{"
                  "\"kubectl.kubernetes.io/last-applied-configuration\":\"");
    buf_puts(
        out,
        "{\\\"apiVersion\\\":\\\"v1\\\",\\\"kind\\\":\\\"Service\\\",\\\"metadata\\\":{"
        "\\\"name\\\":\\\"frontend\\\",\\\"namespace\\\":\\\"shop\\\"},\\\"spec\\\":{"
        "\\\"ports\\\":[{\\\"name\\\":\\\"http\\\",\\\"port\\\":80,\\\"targetPort\\\":8080},"
        "{\\\"name\\\":\\\"https\\\",\\\"port\\\":443,\\\"targetPort\\\":8443}],"
        "\\\"selector\\\":{\\\"app\\\":\\\"frontend\\\"},\\\"type\\\":\\\"LoadBalancer\\\"}}\\n\"");
    buf_puts(out, ",\"example.com/health-check-path\":\"/healthz\",\"example.com/pool\":\"public\","
                  "\"example.com/firewall-rule\":\"k8s-fw-0123456789abcdef0123456789abcdef\","
                  "\"example.com/forwarding-rule\":\"k8s-fwd-0123456789abcdef0123456789abcdef\","
                  "\"example.com/backends\":\"k8s-be-30080--0123456789abcdef\"}},"
                  "\"spec\":{\"ports\":[{\"name\":\"http\",\"protocol\":\"TCP\",\"port\":80,"
                  "\"targetPort\":8080,\"nodePort\":30080},");
    buf_printf(out,
               "{\"name\":\"https\",\"protocol\":\"TCP\",\"port\":443,\"targetPort\":8443,"
               "\"nodePort\":%d}],",
               port);
    buf_puts(out, "\"selector\":{\"app\":\"frontend\"},\"clusterIP\":\"10.96.12.34\","
                  "\"clusterIPs\":[\"10.96.12.34\"],\"type\":\"LoadBalancer\","
                  "\"sessionAffinity\":\"None\",\"externalTrafficPolicy\":\"Cluster\","
                  "\"ipFamilies\":[\"IPv4\"],\"ipFamilyPolicy\":\"SingleStack\","
                  "\"allocateLoadBalancerNodePorts\":true,\"internalTrafficPolicy\":\"Cluster\"},"
                  "\"status\":{\"loadBalancer\":{\"ingress\":[{\"ip\":\"192.0.2.10\"}]}}}");
}

/* About 20 KB: 78 endpoints, of which the last one is ready or not. */
static void put_slice(struct buf *out, const char *ready)
{
    buf_puts(out,
             "{\"kind\":\"EndpointSlice\",\"apiVersion\":\"discovery.k8s.io/v1\",\"metadata\":{"
             "\"name\":\"frontend-abcde\",\"namespace\":\"shop\",\"resourceVersion\":\"1\"},"
             "\"addressType\":\"IPv4\",\"endpoints\":[");
    for (int i = 0; i < 78; i++)
        buf_printf(out,
                   "%s{\"addresses\":[\"10.1.2.%d\"],\"conditions\":{\"ready\":%s,"
                   "\"serving\":true,\"terminating\":false},\"targetRef\":{\"kind\":\"Pod\","
                   "\"namespace\":\"shop\",\"name\":\"frontend-0123456789-%05d\","
                   "\"uid\":\"0f3c2b8e-7a5f-4d6e-9c1d-%012d\"},\"nodeName\":\"node-%d\","
                   "\"zone\":\"zone-%d\"}",
                   i > 0 ? "," : "", i, i == 77 ? ready : "true", i, i, i % 20, i % 3);
    buf_puts(out, "],\"ports\":[{\"name\":\"http\",\"port\":8080,\"protocol\":\"TCP\"}]}");
}

static void diff(const struct pair *p)
{
    struct buf lines = {0};

    ensure(json_diff(buf_str(&p->a), buf_str(&p->b), LIMIT, &lines, NULL) == ERR_OK);
    ensure(lines.len > 0);
    buf_free(&lines);
}

static bool ignore(void *arg, const struct json_token *t)
{
    (void)arg;
    (void)t;
    return true;
}

static void scan(const struct pair *p)
{
    ensure(json_in_scan(buf_str(&p->a), ignore, NULL, NULL) == ERR_OK);
    ensure(json_in_scan(buf_str(&p->b), ignore, NULL, NULL) == ERR_OK);
}

static void measure(const char *what, void (*run)(const struct pair *), const struct pair *p)
{
    double best = 1e9;

    for (int round = 0; round < ROUNDS; round++) {
        double start = now_s();

        for (int i = 0; i < RUNS; i++)
            run(p);
        double took = now_s() - start;
        best = took < best ? took : best;
    }
    printf("%-22s %8.2f us/object (best of %d, objects of %zu bytes)\n", what, best * 1e6 / RUNS,
           ROUNDS, p->a.len);
}

int main(void)
{
    struct pair service = {0};
    struct pair slice = {0};

    put_service(&service.a, 30443);
    put_service(&service.b, 30444);
    put_slice(&slice.a, "true");
    put_slice(&slice.b, "false");
    measure("Service, diff", diff, &service);
    measure("Service, two scans", scan, &service);
    measure("EndpointSlice, diff", diff, &slice);
    measure("EndpointSlice, scans", scan, &slice);
    buf_free(&service.a);
    buf_free(&service.b);
    buf_free(&slice.a);
    buf_free(&slice.b);
    return 0;
}
